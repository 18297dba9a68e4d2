package throttle_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/throttle"
)

func newLimiter(tb testing.TB, lim throttle.Limits, opts ...throttle.Option) *throttle.Limiter {
	tb.Helper()
	l, err := throttle.New(lim, opts...)
	require.NoError(tb, err)
	return l
}

func windows(w ...throttle.Window) throttle.Limits { return throttle.Limits{Windows: w} }

// call is one blocked Acquire; its results may be read once done is closed.
type call struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	permit throttle.Permit
	sent   throttle.Sent
	err    error
	after  time.Duration // from the start of the call until it returned
}

func (c *call) finished() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// spawn starts an Acquire, or a Reacquire if seq is not 0, and comes back when it is blocked or done.
func spawn(l *throttle.Limiter, cost throttle.Cost, seq int64) *call {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &call{cancel: cancel, done: make(chan struct{})}
	begin := time.Now()
	go func() {
		defer close(c.done)
		if seq == 0 {
			c.permit, c.err = l.Acquire(ctx, cost)
		} else {
			c.permit, c.err = l.Reacquire(ctx, cost, seq)
		}
		c.after = time.Since(begin)
		c.sent, _ = c.permit.Sent()
	}()
	synctest.Wait()
	return c
}

func spawnN(l *throttle.Limiter, n int) []*call {
	calls := make([]*call, 0, n)
	for range n {
		calls = append(calls, spawn(l, throttle.Cost{}, 0))
	}
	return calls
}

// sleep lets virtual time pass, and then lets all goroutines act.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// order is the indices of the calls that were admitted, first to last.
func order(calls ...*call) (got []int) {
	bySeq := map[int64]int{}
	last := int64(0)
	for i, c := range calls {
		if c.finished() && c.err == nil {
			bySeq[c.sent.Seq] = i
			last = max(last, c.sent.Seq)
		}
	}
	for seq := int64(1); seq <= last; seq++ {
		if i, ok := bySeq[seq]; ok {
			got = append(got, i)
		}
	}
	return got
}

func TestStrictlyFirstInFirstOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(1, time.Second)))
		calls := spawnN(l, 6)
		sleep(5 * time.Second)
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5}, order(calls...))
		for i, c := range calls {
			assert.Equal(t, time.Duration(i)*time.Second, c.after)
		}
	})
}

func TestCheapRequestStaysBehindAnExpensiveHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(10, time.Second).Of(throttle.Tokens)))
		require.True(t, l.Allow(throttle.Cost{Tokens: 5}))
		head, cheap := spawn(l, throttle.Cost{Tokens: 6}, 0), spawn(l, throttle.Cost{Tokens: 1}, 0)
		free := spawn(l, throttle.Cost{}, 0) // does not even need the window
		sleep(time.Second - 1)
		assert.False(t, head.finished() || cheap.finished() || free.finished(), "nobody overtakes")
		assert.False(t, l.Allow(throttle.Cost{Tokens: 1}), "neither does a newcomer that does not wait")
		_, err := l.TryAcquire(throttle.Cost{})
		var limited *throttle.LimitedError
		require.ErrorAs(t, err, &limited)
		assert.Equal(t, time.Duration(1), limited.RetryAfter, "the head's wait")
		assert.Equal(t, int64(2), l.Stats().Refused, "each of them is a refusal")
		sleep(1)
		assert.Equal(t, []int{0, 1, 2}, order(head, cheap, free))
	})
}

func TestCancelledHeadLetsTheNextGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(10, time.Second)))
		require.True(t, l.Allow(throttle.Cost{Requests: 5}))
		head, next := spawn(l, throttle.Cost{Requests: 6}, 0), spawn(l, throttle.Cost{}, 0)
		gone := errors.New("gone")
		head.cancel(gone)
		synctest.Wait()
		assert.Equal(t, gone, head.err, "the cause, as it is")
		require.True(t, next.finished(), "it fits behind what was taken, and nobody is ahead any more")
		assert.Zero(t, next.after)
		assert.Equal(t, int64(2), next.sent.Seq)
	})
}

func TestContextThatHasEnded(t *testing.T) {
	l := newLimiter(t, throttle.Limits{})
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	p, err := l.Acquire(ctx, throttle.Cost{})
	assert.Equal(t, gone, err)
	assert.Equal(t, throttle.Permit{}, p)
	assert.Equal(t, gone, l.Wait(ctx, throttle.Cost{}))
	_, err = l.Reacquire(ctx, throttle.Cost{}, 1)
	assert.Equal(t, gone, err)
	assert.Equal(t, throttle.Stats{}, l.Stats())
}

func TestReacquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 1})
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		calls := []*call{
			spawn(l, throttle.Cost{}, 0), spawn(l, throttle.Cost{}, 0),
			spawn(l, throttle.Cost{}, 7), spawn(l, throttle.Cost{}, 3), spawn(l, throttle.Cost{}, 9), spawn(l, throttle.Cost{}, 3),
			spawn(l, throttle.Cost{}, 0),
		}
		p.Release()
		for range calls {
			synctest.Wait()
			for _, c := range calls {
				if c.finished() {
					c.permit.Release()
				}
			}
		}
		assert.Equal(t, []int{3, 5, 2, 4, 0, 1, 6}, order(calls...),
			"ahead of newcomers, by number, then in the order of arrival")
	})
}

// A call that returns to an earlier place need not fit behind the head.
func TestReacquireGoesAheadOfAWaitingHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(10, time.Second)))
		require.True(t, l.Allow(throttle.Cost{Requests: 5}))
		head := spawn(l, throttle.Cost{Requests: 6}, 0)
		sleep(time.Second / 2)
		again := spawn(l, throttle.Cost{Requests: 4}, 1)
		assert.True(t, again.finished(), "it fits now")
		again = spawn(l, throttle.Cost{Requests: 2}, 1)
		assert.False(t, again.finished())
		sleep(time.Second / 2)
		assert.True(t, again.finished(), "the timer is for the new head")
		assert.Equal(t, time.Second/2, again.after)
		assert.False(t, head.finished(), "4 and 2 are in its way")
		sleep(time.Second / 2)
		assert.True(t, head.finished())
		assert.Equal(t, 3*time.Second/2, head.after)
	})
}

func TestReacquireIsWokenBeforeTheFormerHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(1, time.Second), throttle.Sliding(1, time.Hour).Of(throttle.Points)))
		require.True(t, l.Allow(throttle.Cost{Points: 1}))
		head := spawn(l, throttle.Cost{Points: 1}, 0)
		again := spawn(l, throttle.Cost{}, 1)
		sleep(time.Hour)
		assert.Equal(t, time.Second, again.after, "its timer takes the place of the head's")
		assert.Equal(t, time.Hour, head.after)
	})
}

func TestReacquireCancelledGivesTheTimerBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Windows: []throttle.Window{
			throttle.Sliding(1, time.Second), throttle.Sliding(1, time.Hour).Of(throttle.Points),
		}})
		require.True(t, l.Allow(throttle.Cost{Points: 1}))
		head := spawn(l, throttle.Cost{}, 0)
		again := spawn(l, throttle.Cost{Points: 1}, 1)
		sleep(time.Second / 2)
		again.cancel(nil)
		sleep(time.Second / 2)
		assert.Equal(t, time.Second, head.after)
	})
}

func TestWaitTakesForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(1, time.Second)}})
		begin := time.Now()
		for i := range 3 {
			require.NoError(t, l.Wait(t.Context(), throttle.Cost{}))
			assert.Equal(t, time.Duration(i)*time.Second, time.Since(begin))
			assert.Zero(t, l.Stats().InFlight, "no slot is held")
		}
	})
}

// A crowd that is served leaves waiters to be used again, and each of them
// hears of its own call only.
func TestWaitersAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Bucket(1000, 1)))
		for range 3 {
			calls := spawnN(l, 1500)
			for i, c := range calls {
				if i%3 == 0 {
					c.cancel(fmt.Errorf("call %d", i))
				}
			}
			sleep(2 * time.Second)
			served := 0
			for i, c := range calls {
				require.True(t, c.finished())
				if c.err != nil {
					require.EqualError(t, c.err, fmt.Sprintf("call %d", i))
				} else {
					served++
					c.permit.Release()
				}
			}
			assert.GreaterOrEqual(t, served, 1000)
		}
		assert.Zero(t, l.Stats().InFlight)
		assert.Zero(t, l.Stats().Waiting)
	})
}

// modelCall is a call in the model's queue.
type modelCall struct {
	*call
	number int
	cost   throttle.Cost
	place  int64
	begin  time.Duration
	at     time.Duration // when the model admits it
	want   throttle.Sent
	err    error
}

// modelQueue adds a queue to the model: strictly by place, then by arrival.
type modelQueue struct {
	model
	queue  []*modelCall
	closed error
}

func (q *modelQueue) add(c *modelCall) {
	i := len(q.queue)
	for i > 0 && q.queue[i-1].place > c.place {
		i--
	}
	q.queue = append(q.queue[:i:i], append([]*modelCall{c}, q.queue[i:]...)...)
}

// advance serves the queue from one point in time to another, each head at
// the earliest moment that the windows allow.
func (q *modelQueue) advance(now, to time.Duration) (left []*modelCall) {
	for len(q.queue) > 0 {
		c := q.queue[0]
		switch {
		case q.closed != nil:
			c.err = q.closed
		case !q.possible(c.cost):
			c.err = throttle.ErrCost
		default:
			wait := q.wait(now, c.cost)
			if wait == throttle.Forever || now+wait > to {
				return left
			}
			if now += wait; q.wait(now, c.cost) > 0 {
				return left // for a slot
			}
			c.want = q.admit(now, c.cost, true)
		}
		c.at = now
		left, q.queue = append(left, c), q.queue[1:]
	}
	return left
}

// bubble hides the *testing.T of a bubble from rapid, which would ask it for
// its deadline.
type bubble struct{ testing.TB }

// Whatever is done while calls wait, every call is admitted at the time and in the
// order of the model, to the nanosecond.
func TestQueueAgainstModel(t *testing.T) {
	const most = 500 // in a bubble: rapid ends after 24 hours of its time, which 1,500 take
	checks := flag.Lookup("rapid.checks").Value
	all, err := strconv.Atoi(checks.String())
	require.NoError(t, err)
	defer func() { require.NoError(t, checks.Set(strconv.Itoa(all))) }()
	for left := all; left > 0; left -= most {
		require.NoError(t, checks.Set(strconv.Itoa(min(left, most))))
		synctest.Test(t, func(t *testing.T) { rapid.Check(bubble{t}, queueAgainstModel) })
	}
}

func queueAgainstModel(t *rapid.T) {
	time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute))) // where all calendars begin a period
	begin := time.Now()
	q := &modelQueue{}
	q.setLimits(0, rapid.IntRange(0, 3).Draw(t, "concurrency"), drawSpecs(t))
	l, err := throttle.New(q.limits())
	check(t, err == nil, "%v", err)
	var open []held
	var all []*modelCall

	// settle compares what the model and the limiter have done by now.
	settle := func(since time.Duration) {
		t.Helper()
		synctest.Wait()
		for _, c := range q.advance(since, time.Since(begin)) {
			check(t, c.finished(), "call %d still waits; it should have gone at %s", c.number, c.at)
			check(t, c.begin+c.after == c.at, "call %d went at %s, not %s", c.number, c.begin+c.after, c.at)
			if c.err != nil {
				check(t, errors.Is(c.call.err, c.err), "call %d: %v, not %v", c.number, c.call.err, c.err)
				continue
			}
			c.want.At = begin.Add(c.at)
			check(t, c.call.err == nil && c.sent == c.want, "call %d: %+v, not %+v (%v)", c.number, c.sent, c.want, c.call.err)
			open = append(open, held{c.permit, c.want})
		}
		for _, c := range q.queue {
			check(t, !c.finished(), "call %d went ahead of its time: %v", c.number, c.call.err)
		}
		s := l.Stats()
		check(t, s.Waiting == len(q.queue), "%d wait, not %d", s.Waiting, len(q.queue))
		check(t, s.InFlight == q.inFlight, "%d in flight, not %d", s.InFlight, q.inFlight)
	}
	defer func() { // a bubble ends with its last goroutine
		for _, c := range all {
			c.cancel(nil)
		}
		synctest.Wait()
	}()

	for range rapid.IntRange(1, 60).Draw(t, "ops") {
		now := time.Since(begin)
		if !q.exact(now) {
			return
		}
		switch rapid.IntRange(0, 12).Draw(t, "op") {
		case 0, 1, 2, 3:
			c := drawCost(t)
			seq := int64(0)
			place := throttle.Forever.Nanoseconds()
			if rapid.IntRange(0, 3).Draw(t, "again") == 0 {
				seq = rapid.Int64Range(1, q.seq+1).Draw(t, "seq")
				place = seq
			}
			if q.closed == nil && !q.possible(c) {
				_, err := l.Acquire(context.Background(), c)
				check(t, errors.Is(err, throttle.ErrCost), "%v", err)
				continue
			}
			mc := &modelCall{number: len(all), cost: c, place: place, begin: now}
			mc.call = spawn(l, c, seq)
			all = append(all, mc)
			q.add(mc)
		case 4:
			if len(q.queue) > 0 {
				i := rapid.IntRange(0, len(q.queue)-1).Draw(t, "which")
				c := q.queue[i]
				c.cancel(fmt.Errorf("cancelled %d", i))
				synctest.Wait()
				check(t, c.finished() && c.call.err != nil && c.call.err.Error() == fmt.Sprintf("cancelled %d", i), "%v", c.call.err)
				q.queue = append(q.queue[:i:i], q.queue[i+1:]...)
			}
		case 5, 6:
			if len(open) > 0 {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				endAny(t, &q.model, now, open[i], true)
				open = append(open[:i:i], open[i+1:]...)
			}
		case 7:
			time.Sleep(time.Nanosecond) // what was taken before must be older for a bucket
			settle(now)
			now++
			if slices.ContainsFunc(open, func(h held) bool { return h.sent.At.Equal(begin.Add(now)) }) {
				q.vague = true // of what was taken just now, a bucket may give back less
			}
			q.setLimits(now, rapid.IntRange(0, 3).Draw(t, "concurrency"), drawSpecs(t))
			check(t, l.SetLimits(q.limits()) == nil, "refused")
			kept := q.queue[:0:0]
			synctest.Wait()
			for _, c := range q.queue {
				if q.closed == nil && !q.possible(c.cost) {
					check(t, c.finished() && errors.Is(c.call.err, throttle.ErrCost), "call %d can never go: %v", c.number, c.call.err)
					continue
				}
				kept = append(kept, c)
			}
			q.queue = kept
		case 8:
			q.concurrency = rapid.IntRange(0, 3).Draw(t, "concurrency")
			check(t, l.SetConcurrency(q.concurrency) == nil, "refused")
		case 9:
			if rapid.Bool().Draw(t, "resume") {
				q.paused = 0
				l.Resume()
			} else {
				d := drawStep(t)
				q.paused = max(q.paused, now+d)
				l.PauseUntil(time.Now().Add(d))
			}
		case 10:
			if rapid.IntRange(0, 4).Draw(t, "close") == 0 {
				q.closed = errors.New("closed for a test")
				l.Close(q.closed)
			} else {
				q.closed = nil
				l.Reopen()
			}
		default:
			time.Sleep(drawStep(t))
		}
		settle(now)
		if q.closed != nil {
			q.closed = nil
			l.Reopen()
		}
	}
}
