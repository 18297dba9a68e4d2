package quota_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/quota/quotatest"
	"github.com/headrace/headrace/throttle"
)

var errDown = errors.New("connection refused")

// broken is a store that can fail, or hang until its context ends.
type broken struct {
	quota.MemoryStore

	err   error
	hangs bool
	takes int
}

func (b *broken) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	b.takes++
	if b.hangs {
		<-ctx.Done()
		return quota.Grant{}, context.Cause(ctx)
	}
	if b.err != nil {
		return quota.Grant{}, b.err
	}
	return b.MemoryStore.Take(ctx, r)
}

func (b *broken) TakeBatch(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
	b.takes++
	if b.err != nil {
		return nil, b.err
	}
	return b.MemoryStore.TakeBatch(ctx, r, n)
}

func withFallback(t *testing.T, f quota.Fallback) (*quota.FallbackStore, *broken) {
	t.Helper()
	b := &broken{MemoryStore: quota.NewMemoryStore(nil)}
	s, err := quota.WithFallback(b, f)
	require.NoError(t, err)
	return s, b
}

func ten(slots int) quota.Request {
	return quota.Request{Lease: time.Minute, Demands: []quota.Demand{{Key: "a", Limits: throttle.Limits{
		Concurrency: slots, Windows: []throttle.Window{throttle.Sliding(10, time.Minute)},
	}}}}
}

func TestAFallbackIsNotSeenWhileTheStoreAnswers(t *testing.T) {
	quotatest.Run(t, func(tb testing.TB) quotatest.Subject {
		tb.Helper()
		clock := clockwork.NewFakeClock()
		s, err := quota.WithFallback(quota.NewMemoryStore(clock), quota.Fallback{Share: 0.1, Clock: clock})
		require.NoError(tb, err)
		return quotatest.Subject{Store: s, Pass: clock.Advance, StepClock: clock.Advance, Epoch: clock.Now()}
	})
}

func TestFailClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := withFallback(t, quota.Fallback{})
		b.err = errDown
		for range 5 {
			_, err := s.Take(t.Context(), ten(0))
			require.ErrorIs(t, err, errDown)
		}
		_, err := s.Take(t.Context(), ten(0))
		open, ok := errors.AsType[*breaker.OpenError](err)
		require.True(t, ok, "%v", err)
		require.ErrorIs(t, open.Cause, errDown)
		assert.Equal(t, 5, b.takes)

		b.err = nil
		time.Sleep(time.Second)
		g, err := s.Take(t.Context(), ten(0))
		require.NoError(t, err)
		require.NoError(t, g.Degraded)
		stats := s.Stats()
		assert.Equal(t, []int64{6, 5, 0}, []int64{stats.Asked, stats.Failed, stats.Degraded})
		assert.Equal(t, breaker.HalfOpen, stats.Breaker.State)
		assert.Same(t, b, s.Unwrap())
	})
}

func TestFailOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := withFallback(t, quota.Fallback{Unlimited: true})
		b.err = errDown
		r := ten(1)
		r.Uses = true
		for range 20 {
			g, err := s.Take(t.Context(), r)
			require.NoError(t, err)
			require.Zero(t, g.Wait)
			require.ErrorContains(t, g.Degraded, "connection refused")
			require.Len(t, g.Uses, 1)
			assert.EqualValues(t, 10, g.Uses[0][0].Left)
			require.NoError(t, s.End(t.Context(), g.Ticket, nil), "it has nothing to end")
		}
		assert.Equal(t, 5, b.takes)
		assert.EqualValues(t, 20, s.Stats().Degraded)
	})
}

func TestShareOfTheLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := withFallback(t, quota.Fallback{Share: 0.3})
		b.err = errDown
		var held []quota.Ticket
		for range 3 {
			g, err := s.Take(t.Context(), ten(7))
			require.NoError(t, err)
			require.ErrorIs(t, g.Degraded, errDown)
			require.Zero(t, g.Ticket.Token, "there is no fencing without the store")
			if len(held) == 2 {
				assert.Equal(t, throttle.BoundByConcurrency, g.Bound.Kind, "two of seven slots")
				break
			}
			require.Equal(t, ten(7).Demands, g.Ticket.Demands)
			require.Zero(t, g.Wait)
			held = append(held, g.Ticket)
		}
		lost, err := s.Renew(t.Context(), held, time.Hour)
		require.NoError(t, err)
		assert.Empty(t, lost)
		require.NoError(t, s.End(t.Context(), held[0], nil))
		lost, err = s.Renew(t.Context(), held, time.Hour)
		require.NoError(t, err)
		assert.Equal(t, held[:1], lost)
		require.NoError(t, s.Cancel(t.Context(), held[1]))
		require.ErrorIs(t, s.Cancel(t.Context(), held[1]), quota.ErrLeaseLost)
		for i := range 3 { // the cancelled one was given back
			g, err := s.Take(t.Context(), ten(0))
			require.NoError(t, err)
			assert.Equal(t, i == 2, g.Wait > 0, "three of ten")
		}
		dear := ten(0)
		dear.Demands[0].Cost.Requests = 4
		_, err = s.Take(t.Context(), dear)
		require.ErrorAs(t, err, new(*breaker.OpenError), "a call that its share never allows")

		require.NoError(t, s.Cooldown(t.Context(), "b", time.Hour))
		cold := ten(0)
		cold.Demands[0].Key = "b"
		g, err := s.Take(t.Context(), cold)
		require.NoError(t, err)
		assert.Equal(t, throttle.BoundByPause, g.Bound.Kind)

		b.err = nil
		time.Sleep(time.Second)
		g, err = s.Take(t.Context(), ten(3))
		require.NoError(t, err)
		require.NoError(t, g.Degraded)
		lost, err = s.Renew(t.Context(), append(held, g.Ticket), time.Hour)
		require.NoError(t, err)
		assert.Equal(t, held, lost, "tickets of both")
		require.NoError(t, s.End(t.Context(), g.Ticket, nil))
	})
}

// leaving is a context that ends when four calls were answered without the store.
type leaving struct {
	context.Context //nolint:containedctx // it is one

	of *quota.FallbackStore
}

func (l leaving) Err() error {
	if l.of.Stats().Degraded >= 4 {
		return context.Canceled
	}
	return nil
}

func TestBatchesWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := withFallback(t, quota.Fallback{Share: 0.3})
		b.err = errDown
		grants, err := s.TakeBatch(t.Context(), ten(0), 5)
		require.NoError(t, err)
		require.Len(t, grants, 5)
		for i, g := range grants {
			require.ErrorIs(t, g.Degraded, errDown)
			assert.Equal(t, i >= 3, g.Wait > 0, "three of ten: call %d", i)
		}
		assert.Equal(t, []int64{5, 5, 5}, []int64{s.Stats().Asked, s.Stats().Failed, s.Stats().Degraded})
		dear := ten(0)
		dear.Demands[0].Cost.Requests = 4
		_, err = s.TakeBatch(t.Context(), dear, 2)
		require.ErrorIs(t, err, errDown, "calls that the share never allows")

		closed, b := withFallback(t, quota.Fallback{Breaker: breaker.Config{Failures: 2}})
		b.err = errDown
		for range 2 {
			_, err = closed.TakeBatch(t.Context(), ten(0), 3)
			require.ErrorIs(t, err, errDown)
		}
		_, err = closed.TakeBatch(t.Context(), ten(0), 3)
		require.ErrorAs(t, err, new(*breaker.OpenError))
		assert.Equal(t, 2, b.takes)
	})
}

// A caller that leaves while a batch is answered without the store has taken nothing of the share.
func TestABatchWithoutTheStoreIsGivenBack(t *testing.T) {
	s, b := withFallback(t, quota.Fallback{Share: 1})
	b.err = errDown
	_, err := s.TakeBatch(leaving{t.Context(), s}, ten(0), 10)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 4, s.Stats().Degraded, "in the middle of the batch")
	grants, err := s.TakeBatch(t.Context(), ten(0), 10)
	require.NoError(t, err)
	for i, g := range grants {
		assert.Zero(t, g.Wait, "call %d", i)
	}
}

// A store that returns the wrong number of grants has failed.
func TestABatchWithTooFewGrants(t *testing.T) {
	s, err := quota.WithFallback(&fewGrants{quota.NewMemoryStore(nil)}, quota.Fallback{Unlimited: true})
	require.NoError(t, err)
	grants, err := s.TakeBatch(t.Context(), ten(0), 3)
	require.NoError(t, err)
	require.Len(t, grants, 3)
	require.ErrorContains(t, grants[0].Degraded, "1 grants of a *quota_test.fewGrants for 3 calls")
}

type fewGrants struct{ quota.MemoryStore }

func (f *fewGrants) TakeBatch(ctx context.Context, r quota.Request, _ int) ([]quota.Grant, error) {
	return f.MemoryStore.TakeBatch(ctx, r, 1)
}

// What is only for Take is no failure, and is asked of the store once.
func TestBatchesThatTheStoreDoesNotTake(t *testing.T) {
	s, b := withFallback(t, quota.Fallback{Unlimited: true, Breaker: breaker.Config{Failures: 1}})
	b.err = errors.ErrUnsupported
	_, err := s.TakeBatch(t.Context(), ten(0), 3)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	stats := s.Stats()
	assert.Equal(t, []int64{0, 0, 0}, []int64{stats.Asked, stats.Failed, stats.Degraded})
	assert.Equal(t, breaker.Closed, stats.Breaker.State)

	g, err := s.Take(t.Context(), ten(0))
	require.NoError(t, err)
	require.ErrorIs(t, g.Degraded, errors.ErrUnsupported, "a Take that the store cannot make is a failure, such as one of a system call")

	plain, err := quota.WithFallback(struct{ quota.Store }{quota.NewMemoryStore(nil)}, quota.Fallback{})
	require.NoError(t, err)
	_, err = plain.TakeBatch(t.Context(), ten(0), 3)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// A share that is used up for a day is no reason to leave the store alone for a day.
func TestWaitsForAShareEndWhenTheStoreMayBeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := withFallback(t, quota.Fallback{Share: 0.1, Timeout: 100 * time.Millisecond})
		b.err = errDown
		r := ten(0)
		r.Demands[0].Limits.Windows = []throttle.Window{throttle.Sliding(10, 24*time.Hour)}
		for i := range 7 {
			g, err := s.Take(t.Context(), r)
			require.NoError(t, err)
			want := []time.Duration{0, 100 * time.Millisecond, time.Second}[min(i, 1)+i/4]
			assert.Equal(t, want, g.Wait, "call %d", i)
			assert.Equal(t, want, g.Bound.Wait, "call %d", i)
		}
		b.err = nil
		time.Sleep(time.Second)
		g, err := s.Take(t.Context(), r)
		require.NoError(t, err)
		assert.Zero(t, g.Wait)
	})
}

// A caller that knows that the store is back need not wait for the breaker.
func TestReset(t *testing.T) {
	s, b := withFallback(t, quota.Fallback{Breaker: breaker.Config{Failures: 1, Open: time.Hour, MaxOpen: time.Hour}})
	b.err = errDown
	_, err := s.Take(t.Context(), ten(0))
	require.ErrorIs(t, err, errDown)
	b.err = nil
	_, err = s.Take(t.Context(), ten(0))
	require.ErrorAs(t, err, new(*breaker.OpenError))
	s.Reset()
	g, err := s.Take(t.Context(), ten(0))
	require.NoError(t, err)
	require.NoError(t, g.Degraded)
	assert.Equal(t, breaker.Closed, s.Stats().Breaker.State)
}

func TestAStoreThatHangsIsNotAskedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := withFallback(t, quota.Fallback{Unlimited: true, Timeout: 20 * time.Millisecond})
		b.hangs = true
		begun := time.Now()
		for range 10 {
			g, err := s.Take(t.Context(), ten(0))
			require.NoError(t, err)
			require.Error(t, g.Degraded)
		}
		assert.Equal(t, 5*20*time.Millisecond, time.Since(begun), "then the breaker is open")
	})
}

// Callers with deadlines that no store can meet do not open the breaker. If a store hangs for longer, the breaker opens,
// even if the deadlines of the callers are before the timeout.
func TestAnEarlyDeadlineIsNoOutage(t *testing.T) {
	for deadline, want := range map[time.Duration]breaker.State{
		time.Microsecond: breaker.Closed, 10*time.Millisecond - 1: breaker.Closed, 10 * time.Millisecond: breaker.Open,
	} {
		synctest.Test(t, func(t *testing.T) {
			s, b := withFallback(t, quota.Fallback{})
			b.hangs = true
			for range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				_, err := s.Take(ctx, ten(0))
				require.Error(t, err)
				cancel()
				if s.Stats().Breaker.State == breaker.Open {
					break
				}
			}
			assert.Equal(t, want, s.Stats().Breaker.State, deadline)
			assert.Equal(t, want == breaker.Open, s.Stats().Failed > 0)
		})
	}
}

// What a caller or a request is to blame for does not open the breaker, and is no reason to go without the store.
func TestErrorsThatAreNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := withFallback(t, quota.Fallback{Unlimited: true})
		gone := errors.New("the caller has gone")
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		b.hangs = true
		for range 9 {
			_, err := s.Take(ended, ten(0))
			require.ErrorIs(t, err, gone)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Millisecond, func() { cancel(gone) })
			_, err = s.Take(ctx, ten(0))
			require.ErrorIs(t, err, gone)
			_, err = s.Take(t.Context(), quota.Request{})
			require.ErrorContains(t, err, "Demands")
		}
		b.hangs, b.err = false, fmt.Errorf("%w: gone", quota.ErrLeaseLost)
		for range 9 {
			_, err := s.Take(t.Context(), ten(0))
			require.ErrorIs(t, err, quota.ErrLeaseLost)
		}
		assert.Equal(t, breaker.Closed, s.Stats().Breaker.State)
		assert.Zero(t, s.Stats().Degraded)
		assert.Zero(t, s.Stats().Failed)
	})
}

func TestFallbackOptions(t *testing.T) {
	for problem, f := range map[string]quota.Fallback{
		"quota: Share: ": {Share: 1.1}, "quota: Share: NaN ": {Share: math.NaN()}, "quota: Unlimited: ": {Share: 1, Unlimited: true},
		"quota: Timeout: ": {Timeout: -1}, "quota: Breaker: ": {Breaker: breaker.Config{Failures: -1}},
	} {
		_, err := quota.WithFallback(quota.NewMemoryStore(nil), f)
		require.ErrorContains(t, err, problem)
	}
	_, err := quota.WithFallback(nil, quota.Fallback{})
	require.ErrorContains(t, err, "quota: Store: ")
	_, err = quota.WithFallback(quota.NewMemoryStore(nil), quota.Fallback{Breaker: breaker.Config{MaxOpen: time.Millisecond}})
	require.NoError(t, err)
}

// While the store is down, each of four processes admits a quarter of the limits.
func ExampleWithFallback() {
	shared := &broken{MemoryStore: quota.NewMemoryStore(nil), err: errDown} // such as one of package redisstore
	store, err := quota.WithFallback(shared, quota.Fallback{Share: 0.25})
	if err != nil {
		panic(err)
	}
	for range 3 {
		g, err := store.Take(context.Background(), quota.Request{Demands: []quota.Demand{{
			Key: "openai", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(8, time.Minute)}},
		}}})
		fmt.Println(g.Wait > 0, g.Degraded, err)
	}
	// Output:
	// false connection refused <nil>
	// false connection refused <nil>
	// true connection refused <nil>
}
