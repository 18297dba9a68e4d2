package throttle_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/throttle"
)

// A refusal is for the call that was refused, for nobody else.
func TestALargeCallThatIsRefusedHoldsNobodyBackOnceItIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		lim := windows(throttle.Sliding(100, time.Hour))
		require.True(t, sharing(t, s, lim).Allow(throttle.Cost{Requests: 20}))
		l := sharing(t, s, lim)
		assert.False(t, l.Allow(throttle.Cost{Requests: 90}))
		assert.True(t, l.Allow(throttle.Cost{}), "who does not wait is not in the way")
		large := spawn(l, throttle.Cost{Requests: 90}, 0)
		small := spawn(l, throttle.Cost{}, 0)
		assert.False(t, small.finished())
		large.cancel(nil)
		synctest.Wait()
		require.True(t, small.finished())
		assert.NoError(t, small.err)
		small.permit.Release()
	})
}

func TestManyTriesAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		s.latency = time.Millisecond
		l := sharing(t, s, windows(throttle.Sliding(1000, time.Second)))
		admitted := make(chan bool, 64)
		for range 64 {
			go func() { admitted <- l.Allow(throttle.Cost{}) }()
		}
		for range 64 {
			assert.True(t, <-admitted)
		}
	})
}

// New limits are for those who wait, too.
func TestNewLimitsWakeThoseWhomTheStoreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		l := sharing(t, s, windows(throttle.Sliding(2, time.Hour)))
		require.True(t, sharing(t, s, windows(throttle.Sliding(2, time.Hour))).Allow(throttle.Cost{Requests: 2}))
		c := spawn(l, throttle.Cost{}, 0)
		sleep(time.Minute)
		require.False(t, c.finished())
		require.NoError(t, l.SetLimits(windows(throttle.Sliding(3, time.Hour))))
		synctest.Wait()
		require.True(t, c.finished())
		assert.Equal(t, time.Minute, c.after)
		c.permit.Release()
	})
}

// What is given back while a refusal is on its way makes it void.
func TestARefusalThatWasOvertakenByNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &lateAnswers{Store: throttle.NewMemoryStore(nil)}
		l := sharing(t, s, windows(throttle.Sliding(1, time.Hour)))
		other := sharing(t, s, windows(throttle.Sliding(1, time.Hour)))
		p, err := other.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		q := spawn(l, throttle.Cost{}, 0) // refused, but does not know yet
		require.NoError(t, l.SetLimits(windows(throttle.Sliding(1, time.Hour), throttle.Sliding(5, time.Hour))))
		p.Cancel()
		sleep(2 * time.Millisecond)
		require.True(t, q.finished())
		assert.Equal(t, 2*time.Millisecond, q.after, "it asked again at once")
		q.permit.Release()
	})
}

// lateAnswers decides at once and tells a millisecond later.
type lateAnswers struct{ throttle.Store }

func (s *lateAnswers) Take(ctx context.Context, demands []throttle.Demand, lease time.Duration) (throttle.Grant, error) {
	g, err := s.Store.Take(ctx, demands, lease)
	<-time.NewTimer(time.Millisecond).C
	return g, err
}

// An error of the store is told as one, also to a caller who has given up meanwhile.
func TestAStoreThatFailsAfterItsCallerHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		s.failure = errors.New("connection refused")
		l := sharing(t, &lateAnswers{s}, throttle.Limits{Concurrency: 1})
		c := spawn(l, throttle.Cost{}, 0)
		c.cancel(errors.New("the caller has gone"))
		sleep(time.Millisecond)
		require.True(t, c.finished())
		assert.EqualError(t, c.err, `throttle: limiter "shared": its store: connection refused`)
		assert.Zero(t, l.Stats().InFlight)
	})
}

// Where one call's room comes free at a time, few of those who wait ask in vain.
func TestACrowdIsLetInOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		s.latency = time.Millisecond
		lim := windows(throttle.Sliding(30, time.Minute))
		l, other := sharing(t, s, lim), sharing(t, s, lim)
		for range 10 {
			require.True(t, other.Allow(throttle.Cost{}))
			sleep(time.Second)
		}
		calls := spawnN(l, 20+20)
		sleep(30 * time.Second)
		require.Equal(t, int64(20), l.Stats().Admitted)
		before := s.seen().refused
		sleep(29*time.Second + 500*time.Millisecond)
		assert.Equal(t, int64(30), l.Stats().Admitted)
		assert.LessOrEqual(t, s.seen().refused-before, 2*10, "each success lets one more ask")
		for _, c := range calls {
			c.cancel(nil)
		}
	})
}

// A slot is free in the store before it is free here: whoever gets it asks once.
func TestASlotIsHandedOverWithoutARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		s.latency = time.Millisecond
		l := sharing(t, s, throttle.Limits{Concurrency: 1})
		begin := time.Now()
		done := make(chan error)
		for range 50 {
			go func() {
				p, err := l.Acquire(t.Context(), throttle.Cost{})
				p.Release()
				done <- err
			}()
		}
		for range 50 {
			require.NoError(t, <-done)
		}
		assert.Zero(t, s.seen().refused)
		assert.Equal(t, 50*time.Millisecond, time.Since(begin))
	})
}

// A pause or a closing that comes while the store is asked holds for that call.
func TestAPauseWhileTheStoreIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		s.latency = time.Second
		l := sharing(t, s, throttle.Limits{Concurrency: 1})
		c := spawn(l, throttle.Cost{}, 0)
		l.PauseUntil(time.Now().Add(time.Minute))
		sleep(time.Second)
		assert.False(t, c.finished())
		sleep(10 * time.Second)
		l.Resume()
		sleep(time.Second)
		require.True(t, c.finished())
		assert.Equal(t, 12*time.Second, c.after)
		c.permit.Release()

		over := errors.New("over")
		c = spawn(l, throttle.Cost{}, 0)
		l.Close(over)
		sleep(time.Second)
		require.True(t, c.finished())
		assert.Equal(t, over, c.err)
		_, err := l.TryAcquire(throttle.Cost{})
		assert.Equal(t, over, err)
		l.Reopen()
		c = spawn(l, throttle.Cost{}, 0)
		sleep(time.Second)
		require.True(t, c.finished())
		require.NoError(t, c.err, "no lease was left behind")
		c.permit.Release()
		assert.Zero(t, l.Stats().InFlight)
	})
}

// Slots are renewed for as long as calls hold them, whatever the limits are now.
func TestLeasesOutliveAChangeOfLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		a, b := sharing(t, s, throttle.Limits{Concurrency: 1}), sharing(t, s, throttle.Limits{Concurrency: 1})
		p, err := a.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		require.NoError(t, a.SetConcurrency(0))
		sleep(15 * time.Second)
		require.NoError(t, a.SetConcurrency(1))
		sleep(time.Minute)
		assert.False(t, b.Allow(throttle.Cost{}), "the call is still running")
		p.Release()
		assert.True(t, b.Allow(throttle.Cost{}))
	})
}

// One call that waits is one wait, however often the store was asked.
func TestOneWaitIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		var waits []time.Duration
		a := sharing(t, s, throttle.Limits{Concurrency: 1})
		b := sharing(t, s, throttle.Limits{Concurrency: 1}, throttle.WithObserver(event.Func(func(e event.Event) { waits = append(waits, e.Wait) })))
		p, err := a.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		c := spawn(b, throttle.Cost{}, 0)
		sleep(time.Minute)
		p.Release()
		sleep(time.Second)
		require.True(t, c.finished())
		assert.Greater(t, s.seen().asked, 1000)
		stats := b.Stats()
		assert.Equal(t, int64(1), stats.Waits)
		assert.Equal(t, []time.Duration{stats.LongestWait}, waits)
		assert.GreaterOrEqual(t, stats.LongestWait, time.Minute)
		b.Reset()
		c.permit.Release()
	})
}

// The store's wait counts for a deadline, where it is sure.
func TestADeadlineBeforeTheStoresWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		lim := throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(1, time.Minute)}}
		other := sharing(t, s, lim)
		p, err := other.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		l := sharing(t, s, lim)
		sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 58*time.Second)
		defer cancel()
		begin := time.Now()
		_, err = l.Acquire(ctx, throttle.Cost{})
		assert.Equal(t, &throttle.DeadlineError{Limiter: "shared", Wait: 59 * time.Second, Left: 58 * time.Second}, err)
		assert.Equal(t, begin, time.Now())
		assert.Zero(t, l.Stats().Waiting)
		assert.Equal(t, int64(1), l.Stats().Refused)
		ctx, cancel = context.WithTimeout(t.Context(), 59*time.Second)
		time.AfterFunc(time.Second, func() {
			assert.Equal(t, 1, l.Stats().Waiting, "it may just be met")
			cancel()
		})
		_, err = l.Acquire(ctx, throttle.Cost{})
		assert.ErrorIs(t, err, context.Canceled)
		sleep(time.Minute)
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		time.AfterFunc(5*time.Second, p.Release)
		q, err := l.Acquire(ctx, throttle.Cost{})
		require.NoError(t, err, "a slot may come free at any time")
		q.Release()
	})
}

// The code of others may panic or end its goroutine; nobody else is left behind.
func TestPanicsAroundAPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 1})
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		next := spawn(l, throttle.Cost{}, 0)
		assert.Panics(t, func() { p.End(throttle.Cost{}, func(time.Time, throttle.Sent) { panic("a law of somebody's") }) })
		synctest.Wait()
		require.True(t, next.finished(), "the queue is served all the same")

		exiting := newLimiter(t, throttle.Limits{Concurrency: 1}, throttle.WithObserver(event.Func(func(event.Event) { runtime.Goexit() })))
		p, err = exiting.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		go func() { _, _ = exiting.Acquire(t.Context(), throttle.Cost{}) }()
		sleep(time.Second)
		p.Release()
		synctest.Wait()
		assert.Zero(t, exiting.Stats().InFlight, "the permit went with the goroutine")

		s := &wayward{MemoryStore: throttle.NewMemoryStore(nil), ends: true}
		shared := sharing(t, s, throttle.Limits{Concurrency: 1})
		q, err := shared.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		sleep(time.Minute) // its renewals panic
		assert.NotPanics(t, q.Release)
		assert.Equal(t, int64(6+1), shared.Stats().StoreErrors)
		assert.Zero(t, shared.Stats().InFlight)
		next.permit.Release()
	})
}

func TestGuardsThatCannotBeKept(t *testing.T) {
	for _, tc := range []struct {
		guard time.Duration
		lim   throttle.Limits
		store bool
		want  string
	}{
		{1<<63 - 1, windows(throttle.Sliding(1, time.Second)), false, "throttle: Guard: 2562047h47m16.854775807s is longer than a century"},
		{time.Second, windows(throttle.Fixed(1, time.Second, time.Time{})), false, "throttle: Windows[0].Per: 1s is not longer than the guard of 1s"},
		{1, windows(throttle.Sliding(1, time.Second)), true, "throttle: Guard: 1ns cannot be kept with a Store, which counts by its own clock: state lower limits"},
	} {
		opts := []throttle.Option{throttle.WithName("x"), throttle.WithGuard(tc.guard)}
		if tc.store {
			opts = append(opts, throttle.WithStore(newWatched()))
		}
		_, err := throttle.New(tc.lim, opts...)
		assert.EqualError(t, err, tc.want)
	}
	l := newLimiter(t, throttle.Limits{}, throttle.WithGuard(time.Second))
	assert.Error(t, l.SetLimits(windows(throttle.Fixed(1, time.Second, time.Time{}))))
}

// Of two that make a refusal void while it is on its way, neither undoes the other.
func TestARefusalThatWasOvertakenTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &lateAnswers{Store: throttle.NewMemoryStore(nil)}
		lim := windows(throttle.Sliding(1, time.Hour))
		l := sharing(t, s, lim)
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		require.NoError(t, l.SetLimits(windows(throttle.Sliding(2, time.Hour)))) // else it would not ask
		require.True(t, sharing(t, s, windows(throttle.Sliding(2, time.Hour))).Allow(throttle.Cost{}))
		c := spawn(l, throttle.Cost{}, 0) // refused, but does not know yet
		p.Cancel()
		require.NoError(t, l.SetConcurrency(5))
		sleep(2 * time.Millisecond)
		require.True(t, c.finished())
		assert.Equal(t, 2*time.Millisecond, c.after, "it asked again at once")
		c.permit.Release()
	})
}

// A raised concurrency is news as well, for those whom the store refused a slot.
func TestARaisedConcurrencyWakesThoseWhomTheStoreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		other := sharing(t, s, throttle.Limits{Concurrency: 1})
		p, err := other.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		l := sharing(t, s, throttle.Limits{Concurrency: 1})
		c := spawn(l, throttle.Cost{}, 0)
		require.False(t, c.finished())
		require.NoError(t, l.SetConcurrency(2))
		synctest.Wait()
		require.True(t, c.finished())
		assert.Zero(t, c.after)
		c.permit.Release()
		p.Release()
	})
}

// After a time without calls in flight, leases are renewed again.
func TestRenewingBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		l := sharing(t, s, throttle.Limits{Concurrency: 1})
		for range 2 {
			p, err := l.TryAcquire(throttle.Cost{})
			require.NoError(t, err)
			before := s.seen().renewed
			sleep(time.Minute)
			assert.Equal(t, before+6, s.seen().renewed)
			p.Release()
			sleep(time.Minute)
			assert.Equal(t, before+6, s.seen().renewed)
		}
	})
}

// A call that begins while the store is renewing is renewed with the others.
func TestACallThatBeginsDuringARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		l := sharing(t, slow{s}, throttle.Limits{Concurrency: 2})
		first, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		sleep(10*time.Second + time.Millisecond)
		require.Equal(t, 1, s.seen().renewed)
		second, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		sleep(time.Minute)
		assert.Equal(t, 1+5, s.seen().renewed, "every 10 s after the last, which took one")
		assert.Equal(t, 2, s.seen().leases)
		first.Release()
		second.Release()
		sleep(time.Minute)
	})
}

// slow takes a second for a renewal, and for an end.
type slow struct{ *watched }

func (s slow) Renew(ctx context.Context, tickets []throttle.Ticket, lease time.Duration) ([]throttle.Ticket, error) {
	left, err := s.watched.Renew(ctx, tickets, lease)
	<-time.NewTimer(time.Second).C
	return left, err
}

func (s slow) End(ctx context.Context, t throttle.Ticket, actual []throttle.Cost) error {
	<-time.NewTimer(time.Second).C
	return s.watched.End(ctx, t, actual)
}

// Whoever ends a permit first wins, also while the store is being told.
func TestASecondEndWhileTheStoreIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		l := sharing(t, slow{s}, throttle.Limits{Concurrency: 1})
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		sleep(9*time.Second + 500*time.Millisecond) // half a second before it is renewed
		ended := make(chan bool, 1)
		go func() { ended <- p.End(throttle.Cost{Requests: 2}, nil) }()
		synctest.Wait()
		assert.False(t, p.End(throttle.Cost{}, nil))
		assert.Equal(t, 1, l.Stats().InFlight, "the store still has the slot")
		sleep(time.Second)
		assert.True(t, <-ended)
		assert.Zero(t, l.Stats().InFlight)
		assert.Zero(t, s.seen().renewed)
	})
}

// What was granted to a call that a pause holds back is cancelled; a store
// that does not hear of it is counted. Whoever does not wait learns of the pause.
func TestAGrantThatIsNotWantedAnyMore(t *testing.T) {
	for failures, failure := range []error{nil, errors.New("no route to the store")} {
		synctest.Test(t, func(t *testing.T) {
			l := sharing(t, noCancels{&lateAnswers{Store: throttle.NewMemoryStore(nil)}, failure}, throttle.Limits{Concurrency: 1})
			refused := make(chan error, 1)
			go func() {
				_, err := l.TryAcquire(throttle.Cost{})
				refused <- err
			}()
			synctest.Wait()
			l.PauseUntil(time.Now().Add(time.Minute))
			wait := time.Minute - time.Millisecond
			assert.Equal(t, &throttle.LimitedError{
				Limiter: "shared", RetryAfter: wait, Bound: throttle.Bound{Kind: throttle.BoundByPause, Wait: wait},
			}, <-refused)
			assert.Equal(t, throttle.Stats{
				Refused: 1, StoreErrors: int64(failures), PausedUntil: time.Now().Add(wait),
				Bound: throttle.Bound{Kind: throttle.BoundByPause, Wait: wait},
			}, l.Stats())
		})
	}
}

// noCancels cannot be told of a cancelled call if failure is not nil.
type noCancels struct {
	throttle.Store
	failure error
}

func (s noCancels) Cancel(ctx context.Context, t throttle.Ticket) error {
	if s.failure != nil {
		return s.failure
	}
	return s.Store.Cancel(ctx, t)
}

// A nanosecond is a wait, too.
func TestAStoreThatWantsANanosecond(t *testing.T) {
	l := sharing(t, &wayward{MemoryStore: throttle.NewMemoryStore(nil), wait: 1}, throttle.Limits{Concurrency: 1})
	_, err := l.TryAcquire(throttle.Cost{})
	var limited *throttle.LimitedError
	require.ErrorAs(t, err, &limited)
	assert.Equal(t, time.Duration(1), limited.RetryAfter)
}

// The window that the store named is not what binds during a pause.
func TestAPauseWhileTheHeadWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		lim := windows(throttle.Sliding(1, time.Minute))
		require.True(t, sharing(t, s, lim).Allow(throttle.Cost{}))
		l := sharing(t, s, lim)
		c := spawn(l, throttle.Cost{}, 0)
		require.Equal(t, lim.Windows[0], l.Stats().Bound.Window)
		l.PauseUntil(time.Now().Add(time.Hour))
		assert.Equal(t, throttle.Bound{Kind: throttle.BoundByPause, Wait: time.Hour}, l.Stats().Bound)
		c.cancel(nil)
	})
}

// Before a deadline, calls elsewhere may give back what they reserved, and a
// pause of this process may be ended: that is waited for.
func TestADeadlineBeforeAWaitThatIsNotSure(t *testing.T) {
	for name, hinder := range map[string]func(s throttle.Store, l *throttle.Limiter){
		"tokens": func(s throttle.Store, l *throttle.Limiter) { sharing(t, s, l.Limits()).Allow(tokens(10)) },
		"a pause": func(_ throttle.Store, l *throttle.Limiter) {
			time.AfterFunc(time.Millisecond/2, func() { l.PauseUntil(time.Now().Add(time.Minute)) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &lateAnswers{Store: throttle.NewMemoryStore(nil)}
				l := sharing(t, s, windows(throttle.Sliding(10, time.Minute).Of(throttle.Tokens)))
				hinder(s, l)
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := l.Acquire(ctx, tokens(5))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, time.Second, time.Since(begin))
				assert.Equal(t, int64(1), l.Stats().Abandoned)
			})
		})
	}
}
