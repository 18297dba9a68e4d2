package line_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/throttle"
)

// waiter is a turn after Await was called.
type waiter struct {
	inflight.Turn

	ticket *line.Ticket
	ctx    context.Context //nolint:containedctx // of the call
	leave  context.CancelCauseFunc

	mu     sync.Mutex      // guards what follows
	asking context.Context //nolint:containedctx // nil: it waits
	err    error
}

func begin(t *testing.T, l *line.Lines, from line.Caller) *waiter {
	t.Helper()
	w := &waiter{}
	ctx, leave := context.WithCancelCause(t.Context())
	w.leave = leave
	w.ctx, w.ticket = l.With(ctx, from)
	w.Turn = w.ticket.Turn("api", false)
	w.await()
	return w
}

func (w *waiter) await() {
	w.mu.Lock()
	w.asking = nil
	w.mu.Unlock()
	go func() {
		asking, err := w.Await(w.ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asking, w.err = asking, err
	}()
	synctest.Wait()
}

// asks returns the context to ask under, or nil if the call waits.
func (w *waiter) asks() context.Context {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asking
}

// failed is the error of Await.
func (w *waiter) failed() error {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func waiting(l *line.Lines) int { return l.Stats()[0].Waiting }

func TestOutrankedAndAdmittedAtTheSameInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := line.New(line.Config{})
		first := begin(t, l, batch("b"))
		first.Queued()
		better := begin(t, l, interactive("i"))
		assert.Equal(t, intake.ErrOutranked, context.Cause(first.asks()))
		assert.Nil(t, better.asks(), "not before the other one has returned")
		assert.False(t, first.Asked(nil))
		require.NotNil(t, better.asks())
		assert.Equal(t, 1, waiting(l))
		assert.NoError(t, better.asks().Err())
		assert.False(t, better.Asked(nil))
		assert.Zero(t, waiting(l))
		assert.Equal(t, []line.Client{{Name: "b", Admitted: 1}, {Name: "i", Admitted: 1}}, l.Stats()[0].Clients)
	})
}

func TestTheBetterOneLeavesBeforeItIsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := line.New(line.Config{})
		first := begin(t, l, batch("b"))
		first.Queued()
		better := begin(t, l, interactive("i"))
		better.leave(io.EOF)
		assert.Nil(t, better.asks())
		assert.Equal(t, io.EOF, better.err)
		assert.True(t, first.Asked(intake.ErrOutranked))
		first.await()
		require.NotNil(t, first.asks())
		require.NoError(t, first.asks().Err())
		another := begin(t, l, interactive("i"))
		assert.Equal(t, intake.ErrOutranked, context.Cause(first.asks()))
		assert.True(t, first.Asked(intake.ErrOutranked))
		first.await()
		assert.Nil(t, first.asks())
		assert.False(t, another.Asked(io.ErrClosedPipe))
		require.NotNil(t, first.asks())
		time.Sleep(time.Hour)
		assert.IsType(t, &line.WaitError{}, context.Cause(first.asks()))
		assert.False(t, first.Asked(context.Cause(first.asks())))
		assert.Zero(t, waiting(l))
	})
}

// A guard rejects no call if its queue is full of calls that are not in line yet.
func TestLimitedByACallThatIsNotInLineYet(t *testing.T) {
	for about, resolve := range map[string]func(first *waiter){
		"it joins the line": func(first *waiter) { first.Queued(); first.Asked(nil) },
		"it is admitted":    func(first *waiter) { first.Asked(nil) },
		"it hangs":          func(*waiter) { time.Sleep(2 * time.Second) },
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := line.New(line.Config{})
				first, second := begin(t, l, batch("b")), begin(t, l, batch("b"))
				assert.True(t, second.Asked(throttle.ErrLimited))
				second.await()
				assert.Nil(t, second.asks(), "it would be limited again")
				third := begin(t, l, batch("b"))
				assert.Nil(t, third.asks())
				resolve(first)
				require.NotNil(t, second.asks())
				assert.False(t, second.Asked(nil))
				require.NotNil(t, third.asks())
				if about != "it hangs" {
					assert.False(t, third.Asked(throttle.ErrLimited), "by what is not in line")
					assert.Zero(t, waiting(l))
				}
			})
		})
	}
}

// Of several calls that ask at the same time, because none waited when they came,
// one stays.
func TestCallsThatAskWithoutALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := line.New(line.Config{MaxQueue: 3})
		var all []*waiter
		for range 5 {
			all = append(all, begin(t, l, batch("b")))
			require.NotNil(t, all[len(all)-1].asks())
		}
		assert.False(t, all[0].Asked(nil), "one is admitted")
		all[1].Queued()
		assert.NoError(t, all[1].asks().Err())
		all[2].Queued()
		assert.Equal(t, intake.ErrOutranked, context.Cause(all[2].asks()))
		assert.True(t, all[2].Asked(intake.ErrOutranked))
		all[2].await()
		assert.True(t, all[3].Asked(&throttle.LimitedError{}), "the queue of the guard is full of calls that are not in line")
		all[3].await()
		assert.Equal(t, 3, waiting(l))
		all[4].Queued()
		full := context.Cause(all[4].asks())
		assert.Equal(t, &line.FullError{Line: "api", Waiting: 3, RetryAfter: time.Second}, full)
		assert.False(t, all[4].Asked(full))
		for _, w := range all[1:4] {
			require.NotNil(t, w.asks())
			assert.False(t, w.Asked(nil))
		}
		assert.Zero(t, waiting(l))
		assert.EqualValues(t, 4, l.Stats()[0].Clients[0].Admitted)
		last := begin(t, l, batch("b"))
		assert.False(t, last.Asked(&throttle.LimitedError{}), "there is no line that it could join")
	})
}

// One that has not returned since it was outranked may be next, and hang.
func TestATurnOfACallThatHangsOutranked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := line.New(line.Config{})
		first, hangs := begin(t, l, batch("b")), begin(t, l, batch("b"))
		first.Queued()
		hangs.Queued()
		assert.Equal(t, intake.ErrOutranked, context.Cause(hangs.asks()))
		time.Sleep(time.Second / 2)
		assert.False(t, first.Asked(nil))
		next := begin(t, l, batch("b"))
		assert.Nil(t, next.asks(), "it is the turn of the one that hangs")
		time.Sleep(time.Second / 2)
		require.NotNil(t, next.asks())
		assert.False(t, next.Asked(nil))
		assert.True(t, hangs.Asked(intake.ErrOutranked))
		hangs.await()
		require.NotNil(t, hangs.asks())
		assert.False(t, hangs.Asked(nil))
		assert.Zero(t, waiting(l))
	})
}

// A call that joins the line late has waited since it came.
func TestTheWaitOfACallThatJoinsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := line.New(line.Config{MaxWait: time.Minute})
		late := begin(t, l, batch("late"))
		time.Sleep(50 * time.Second)
		other := begin(t, l, batch("other"))
		other.Queued()
		late.Queued()
		assert.True(t, late.Asked(intake.ErrOutranked))
		late.await()
		time.Sleep(9 * time.Second)
		assert.Nil(t, late.asks())
		require.NoError(t, late.failed())
		time.Sleep(time.Second)
		assert.Equal(t, &line.WaitError{Line: "api", Waited: time.Minute, RetryAfter: time.Minute}, late.failed())
		require.NoError(t, other.asks().Err())
		time.Sleep(50 * time.Second)
		synctest.Wait()
		assert.IsType(t, &line.WaitError{}, context.Cause(other.asks()))
		assert.False(t, other.Asked(context.Cause(other.asks())))
	})
}

// What a call asked under has ended when the call has: contexts that were made of
// it for the admission do not stay with the request.
func TestTheContextOfAnAdmissionEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := line.New(line.Config{})
		for _, err := range []error{nil, io.EOF, intake.ErrOutranked} {
			w := begin(t, l, batch("b"))
			asking := w.asks()
			_ = asking.Done()
			again := w.Asked(err)
			assert.ErrorIs(t, asking.Err(), context.Canceled)
			assert.NoError(t, w.ctx.Err())
			if again {
				w.leave(io.EOF)
				w.await()
			}
		}
		assert.Zero(t, waiting(l))
	})
}
