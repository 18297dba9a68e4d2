package throttle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// watched is a store that counts what it is asked, and can be told to fail or to hang.
type watched struct {
	throttle.Store

	mu sync.Mutex // guards everything below
	tally
	busy    int
	latency time.Duration
	failure error
	dead    bool // renewals do not get through
}

// tally is what a watched store has seen.
type tally struct {
	asked   int
	refused int
	busiest int   // Takes at once
	ended   []any // what End was told: nil, []Cost, or "cancel"
	renewed int
	leases  int // of the last renewal
}

func (w *watched) seen() tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tally
}

func newWatched() *watched { return &watched{Store: throttle.NewMemoryStore(nil)} }

func (w *watched) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *watched) enter(ctx context.Context) error {
	w.mu.Lock()
	w.asked++
	w.busy++
	w.busiest = max(w.busiest, w.busy)
	latency, failure := w.latency, w.failure
	w.mu.Unlock()
	defer w.set(func() { w.busy-- })
	if latency > 0 {
		timer := time.NewTimer(latency)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return failure
}

func (w *watched) Take(ctx context.Context, demands []throttle.Demand, lease time.Duration) (throttle.Grant, error) {
	if err := w.enter(ctx); err != nil {
		return throttle.Grant{}, err
	}
	g, err := w.Store.Take(ctx, demands, lease)
	if g.Wait > 0 {
		w.set(func() { w.refused++ })
	}
	return g, err
}

func (w *watched) End(ctx context.Context, t throttle.Ticket, actual []throttle.Cost) error {
	w.set(func() { w.ended = append(w.ended, actual) })
	w.mu.Lock()
	failure := w.failure
	w.mu.Unlock()
	if failure != nil {
		return failure
	}
	return w.Store.End(ctx, t, actual)
}

func (w *watched) Cancel(ctx context.Context, t throttle.Ticket) error {
	w.set(func() { w.ended = append(w.ended, "cancel") })
	return w.Store.Cancel(ctx, t)
}

func (w *watched) Renew(ctx context.Context, tickets []throttle.Ticket, lease time.Duration) ([]throttle.Ticket, error) {
	w.mu.Lock()
	w.renewed++
	w.leases = len(tickets)
	dead := w.dead
	w.mu.Unlock()
	if dead {
		return nil, errors.New("no route to the store")
	}
	return w.Store.Renew(ctx, tickets, lease)
}

func sharing(t *testing.T, s throttle.Store, lim throttle.Limits, opts ...throttle.Option) *throttle.Limiter {
	t.Helper()
	return newLimiter(t, lim, append(opts, throttle.WithName("shared"), throttle.WithStore(s))...)
}

func TestALimiterWithAStoreNeedsAName(t *testing.T) {
	_, err := throttle.New(throttle.Limits{}, throttle.WithStore(newWatched()))
	assert.EqualError(t, err, "throttle: Name: is empty: with a Store the limiter needs one, it is the key")
	_, err = throttle.New(throttle.Limits{}, throttle.WithStore(newWatched()), throttle.WithStore(nil))
	assert.NoError(t, err)
}

func TestTwoLimitersShareAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		lim := windows(throttle.Sliding(3, time.Minute))
		a, b := sharing(t, s, lim), sharing(t, s, lim)
		assert.True(t, a.Allow(throttle.Cost{}))
		require.NoError(t, a.Wait(t.Context(), throttle.Cost{}))
		sleep(time.Second)
		p, err := b.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		assert.False(t, b.Allow(throttle.Cost{}), "its own window has room for two more")
		_, err = b.TryAcquire(throttle.Cost{})
		assert.Equal(t, &throttle.LimitedError{
			Limiter: "shared", RetryAfter: 59 * time.Second,
			Bound: throttle.Bound{Kind: throttle.BoundByWindow, Window: lim.Windows[0], Wait: 59 * time.Second},
		}, err, "what binds there")
		p.Release()
		assert.Equal(t, 5, s.seen().asked)
		assert.Empty(t, s.seen().ended, "what was reserved stays: nothing to tell the store")

		begin := time.Now()
		time.AfterFunc(time.Second, func() {
			assert.Equal(t, throttle.Bound{Kind: throttle.BoundByStore, Window: lim.Windows[0], Wait: 58 * time.Second}, b.Stats().Bound)
		})
		require.NoError(t, b.Wait(t.Context(), throttle.Cost{}))
		assert.Equal(t, 59*time.Second, time.Since(begin))
		assert.Equal(t, throttle.Stats{Admitted: 2, Refused: 2, Waits: 1, Waited: 59 * time.Second, LongestWait: 59 * time.Second}, b.Stats())
	})
}

// A refusal by the store is undone here, down to the law, and the caller keeps
// its place.
func TestWhatTheStoreRefusesIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := newWatched(), &law{}
		lim := windows(throttle.Sliding(10, time.Minute))
		other := sharing(t, s, lim)
		require.True(t, other.Allow(throttle.Cost{Requests: 8}))
		sleep(time.Second)
		l := sharing(t, s, lim, governed(g))
		large := spawn(l, throttle.Cost{Requests: 4}, 0)
		small := spawn(l, throttle.Cost{}, 1)
		assert.False(t, large.finished() || small.finished(), "nobody overtakes the head, also not with a smaller cost")
		_, _, sent := g.heard()
		require.Len(t, sent, 1)
		assert.Equal(t, sent, g.undone)
		assert.Equal(t, 0, l.Stats().InFlight)
		assert.Equal(t, int64(0), l.Stats().Admitted)
		assert.Equal(t, 2, l.Stats().Waiting)
		sleep(59 * time.Second)
		require.True(t, large.finished() && small.finished())
		assert.Equal(t, []int{0, 1}, order(large, small))
		assert.Equal(t, throttle.Cost{Requests: 4}, large.sent.Cost, "asked again for what it costs")
		assert.Equal(t, int64(2), l.Stats().Admitted)
		assert.Equal(t, 4, s.seen().asked, "one refusal for the two of them")
		large.permit.Release()
		small.permit.Release()
		assert.Len(t, g.undone, 1)
	})
}

// After a refusal one caller finds out when the store has room again, and with
// each success one more may ask at once: a crowd does not storm it.
func TestACrowdDoesNotStormTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		s.latency = time.Millisecond
		lim := windows(throttle.Sliding(100, time.Second))
		other := sharing(t, s, lim)
		require.True(t, other.Allow(throttle.Cost{Requests: 90}))
		l := sharing(t, s, lim)
		calls := spawnN(l, 90)
		sleep(500 * time.Millisecond)
		assert.Equal(t, int64(10), l.Stats().Admitted)
		assert.LessOrEqual(t, s.seen().refused, 11, "as many as had succeeded, and one")
		sleep(2 * time.Second)
		assert.Equal(t, int64(90), l.Stats().Admitted)
		assert.LessOrEqual(t, s.seen().refused, 11)
		assert.Greater(t, s.seen().busiest, 16)
		for _, c := range calls {
			c.permit.Release()
		}
	})
}

func TestTheEndOfAPermitEndsInTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		lim := throttle.Limits{Concurrency: 5, Windows: []throttle.Window{throttle.Sliding(100, time.Minute).Of(throttle.Tokens)}}
		l, other := sharing(t, s, lim), sharing(t, s, lim)
		end := func(f func(throttle.Permit)) {
			t.Helper()
			p, err := l.Acquire(t.Context(), tokens(40))
			require.NoError(t, err)
			f(p)
			f(p)
		}
		end(throttle.Permit.Release)
		end(func(p throttle.Permit) { p.Settle(tokens(10)) })
		end(throttle.Permit.Cancel)
		assert.Equal(t, []any{[]throttle.Cost(nil), []throttle.Cost{tokens(10)}, "cancel"}, s.seen().ended)
		_, err := other.TryAcquire(tokens(51))
		assert.ErrorIs(t, err, throttle.ErrLimited)
		sleep(time.Minute)
		p, err := other.TryAcquire(tokens(100))
		require.NoError(t, err)
		p.Settle(tokens(200)) // more than it allows
		sleep(time.Minute)
		assert.True(t, l.Allow(tokens(100)))
		assert.Equal(t, 0, l.Stats().InFlight)
		require.NoError(t, other.SetConcurrency(1))
		fresh := sharing(t, s, throttle.Limits{Concurrency: 1})
		require.NoError(t, fresh.Wait(t.Context(), throttle.Cost{}))
		p, err = other.Acquire(t.Context(), throttle.Cost{Tokens: 0})
		require.NoError(t, err, "Allow and Wait leave no lease behind")
		p.Release()
	})
}

// Without a slot, the store hears of an end only if it changes its books.
func TestAnEndThatChangesNothingIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		l := sharing(t, s, windows(throttle.Sliding(100, time.Minute).Of(throttle.Tokens)))
		for _, actual := range []throttle.Cost{tokens(40), {Requests: 1, Tokens: 40}, tokens(10), tokens(50)} {
			p, err := l.TryAcquire(tokens(40))
			require.NoError(t, err)
			p.Settle(actual)
			sleep(time.Minute)
		}
		assert.Equal(t, []any{[]throttle.Cost{tokens(10)}, []throttle.Cost{tokens(50)}}, s.seen().ended)
	})
}

// Slots of all processes together; who waits asks again, and at once when the
// slot was its own process's.
func TestTwoLimitersShareSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		lim := throttle.Limits{Concurrency: 2}
		a, b := sharing(t, s, lim), sharing(t, s, lim)
		p, err := a.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		q, err := b.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		waiting := spawn(b, throttle.Cost{}, 0)
		assert.False(t, waiting.finished())
		q.Release()
		synctest.Wait()
		require.True(t, waiting.finished())
		assert.Zero(t, waiting.after)
		again := spawn(b, throttle.Cost{}, 0)
		sleep(time.Hour)
		assert.False(t, again.finished(), "calls that take long keep their slots")
		p.Release()
		sleep(time.Second)
		require.True(t, again.finished())
		again.permit.Release()
		waiting.permit.Release()
		renewed := s.seen().renewed
		assert.Greater(t, renewed, 300)
		sleep(time.Hour)
		assert.LessOrEqual(t, s.seen().renewed, renewed+2, "nothing is left to renew")
	})
}

// What has ended is not renewed, also while others are in flight.
func TestOnlyCallsInFlightAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		l := sharing(t, s, throttle.Limits{Concurrency: 3})
		calls := spawnN(l, 3)
		sleep(10*time.Second - 1)
		assert.Zero(t, s.seen().renewed)
		sleep(1)
		assert.Equal(t, 3, s.seen().leases)
		calls[1].permit.Release()
		calls[2].permit.Release()
		sleep(10 * time.Second)
		assert.Equal(t, 1, s.seen().leases)
		assert.Equal(t, 2, s.seen().renewed, "all of them at once")
		calls[0].permit.Release()
		sleep(time.Minute)
		assert.Equal(t, 2, s.seen().renewed, "none is left")
	})
}

// A single slot is renewed too, and what holds no slot is not.
func TestOnlySlotsAreRenewed(t *testing.T) {
	for concurrency, want := range map[int]int{0: 0, 1: 6} {
		synctest.Test(t, func(t *testing.T) {
			s := newWatched()
			p, err := sharing(t, s, throttle.Limits{Concurrency: concurrency}).TryAcquire(throttle.Cost{})
			require.NoError(t, err)
			sleep(time.Minute)
			assert.Equal(t, want, s.seen().renewed, "concurrency %d", concurrency)
			p.Release()
			sleep(time.Minute)
		})
	}
}

// What is given back to a window of the store may be enough for the one who
// waits for it; what ends as reserved gives nothing back.
func TestWhatComesBackIsAskedForAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		lim := windows(throttle.Sliding(10, time.Minute).Of(throttle.Tokens))
		require.True(t, sharing(t, s, lim).Allow(tokens(4)))
		l := sharing(t, s, lim)
		first, err := l.TryAcquire(tokens(1))
		require.NoError(t, err)
		second, err := l.TryAcquire(tokens(3))
		require.NoError(t, err)
		waiting := spawn(l, tokens(5), 0)
		asked := s.seen().asked
		first.Release()
		synctest.Wait()
		assert.Equal(t, asked, s.seen().asked)
		assert.False(t, waiting.finished())
		second.Cancel()
		synctest.Wait()
		require.True(t, waiting.finished())
		assert.Zero(t, waiting.after)
		waiting.permit.Release()
	})
}

// A process that has died renews nothing: its slots become free.
func TestTheSlotsOfADeadProcessBecomeFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := throttle.NewMemoryStore(nil)
		dying := &watched{Store: shared, dead: true}
		lim := throttle.Limits{Concurrency: 1}
		dead := sharing(t, dying, lim)
		p, err := dead.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		l := sharing(t, shared, lim)
		begin := time.Now()
		q, err := l.Acquire(t.Context(), throttle.Cost{})
		require.NoError(t, err)
		assert.Equal(t, 30*time.Second, time.Since(begin))
		assert.GreaterOrEqual(t, dead.Stats().StoreErrors, int64(2), "renewals that did not get through")
		p.Release() // it was not dead after all, but the lease was lost
		assert.False(t, l.Allow(throttle.Cost{}), "somebody else has the slot")
		q.Release()
	})
}

func TestAStoreThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := newWatched(), &law{}
		l := sharing(t, s, throttle.Limits{Concurrency: 2, Windows: []throttle.Window{throttle.Sliding(2, time.Hour)}}, governed(g))
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		down := errors.New("connection refused")
		s.set(func() { s.failure = down })
		for range 5 {
			_, err = l.Acquire(t.Context(), throttle.Cost{})
			assert.ErrorIs(t, err, down)
			assert.EqualError(t, err, `throttle: limiter "shared": its store: connection refused`)
			assert.False(t, l.Allow(throttle.Cost{}))
		}
		assert.Len(t, g.undone, 10)
		assert.Equal(t, 1, l.Stats().InFlight)
		p.Release()
		assert.Equal(t, int64(1), l.Stats().StoreErrors, "the end that it did not hear of")
		s.set(func() { s.failure = nil })
		assert.True(t, l.Allow(throttle.Cost{}), "nothing was lost here")

		_, err = l.TryAcquire(throttle.Cost{Requests: 3})
		assert.Equal(t, &throttle.CostError{Limiter: "shared", Amount: 3, Max: 2, Window: throttle.Sliding(2, time.Hour)}, err)
	})
}

func TestAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		s.latency = time.Hour
		l := sharing(t, s, throttle.Limits{Concurrency: 1})
		gone := errors.New("the caller has gone")
		c := spawn(l, throttle.Cost{}, 0)
		sleep(time.Second)
		waiting := spawn(l, throttle.Cost{}, 0)
		c.cancel(gone)
		synctest.Wait()
		require.True(t, c.finished())
		assert.Equal(t, gone, c.err)
		waiting.cancel(gone)
		synctest.Wait()
		assert.Equal(t, gone, waiting.err)
		begin := time.Now()
		_, err := l.TryAcquire(throttle.Cost{})
		assert.EqualError(t, err, `throttle: limiter "shared": its store: no answer within 5s`)
		assert.Equal(t, 5*time.Second, time.Since(begin))
		stuck := spawn(l, throttle.Cost{}, 0)
		next := spawn(l, throttle.Cost{}, 0)
		synctest.Wait()
		s.set(func() { s.latency = 0 })
		sleep(5 * time.Second)
		assert.Error(t, stuck.err, "one answer that is lost fails one call")
		require.True(t, next.finished())
		require.NoError(t, next.err)
		next.permit.Release()
		assert.Equal(t, 0, l.Stats().InFlight)
		s.set(func() { s.latency = 0 })
		assert.True(t, l.Allow(throttle.Cost{}))
	})
}

// A store may return nonsense, and its code may panic.
func TestAStoreThatMisbehaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		odd := &wayward{MemoryStore: throttle.NewMemoryStore(nil), wait: throttle.Forever}
		l := sharing(t, odd, throttle.Limits{Concurrency: 1})
		c := spawn(l, throttle.Cost{}, 0)
		sleep(time.Hour)
		assert.False(t, c.finished(), "it is to wait for ever")
		assert.Equal(t, 1, odd.asked)
		c.cancel(nil)

		odd = &wayward{MemoryStore: throttle.NewMemoryStore(nil), wait: -1}
		l = sharing(t, odd, throttle.Limits{Concurrency: 1})
		p, err := l.Acquire(t.Context(), throttle.Cost{})
		require.NoError(t, err, "no wait is no wait")
		p.Release()

		odd.panics = true
		assert.PanicsWithValue(t, "a store of somebody's", func() { _, _ = l.Acquire(t.Context(), throttle.Cost{}) })
		assert.PanicsWithValue(t, "a store of somebody's", func() { l.Allow(throttle.Cost{}) })
		odd.panics = false
		assert.True(t, l.Allow(throttle.Cost{}), "nothing was left behind")
		assert.Zero(t, l.Stats().InFlight)
	})
}

// wayward is a store that answers what it likes.
type wayward struct {
	*throttle.MemoryStore
	wait   time.Duration
	panics bool
	ends   bool // only what has no error to return panics, and Take works
	asked  int
}

func (o *wayward) End(context.Context, throttle.Ticket, []throttle.Cost) error { panic("an end") }

func (o *wayward) Renew(context.Context, []throttle.Ticket, time.Duration) ([]throttle.Ticket, error) {
	panic("a renewal")
}

func (o *wayward) Take(ctx context.Context, demands []throttle.Demand, lease time.Duration) (throttle.Grant, error) {
	o.asked++
	if o.ends {
		return o.MemoryStore.Take(ctx, demands, lease)
	}
	if o.panics {
		panic("a store of somebody's")
	}
	return throttle.Grant{Wait: o.wait}, nil
}

// A caller that gives up while it waits to ask again leaves nothing behind.
func TestGivingUpBetweenTwoAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		lim := windows(throttle.Sliding(1, time.Minute))
		require.True(t, sharing(t, s, lim).Allow(throttle.Cost{}))
		l := sharing(t, s, lim)
		first, second := spawn(l, throttle.Cost{}, 0), spawn(l, throttle.Cost{}, 0)
		first.cancel(nil)
		sleep(time.Minute)
		require.True(t, second.finished())
		assert.Equal(t, time.Minute, second.after)
		second.permit.Cancel()
		assert.True(t, l.Allow(throttle.Cost{}), "all was given back, there and here")
	})
}

// New limits reach the store with the next call.
func TestNewLimitsReachTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		l := sharing(t, s, windows(throttle.Sliding(1, time.Minute)))
		require.True(t, l.Allow(throttle.Cost{}))
		require.NoError(t, l.SetLimits(windows(throttle.Sliding(3, time.Minute))))
		assert.True(t, l.Allow(throttle.Cost{Requests: 2}))
		assert.False(t, sharing(t, s, windows(throttle.Sliding(3, time.Minute))).Allow(throttle.Cost{}))
	})
}

// Many goroutines of several processes at once: never more than there is, and
// nothing is left behind.
func TestHammerTheStore(t *testing.T) {
	const slots, goroutines, calls = 5, 24, 60
	s := throttle.NewMemoryStore(nil)
	lim := throttle.Limits{Concurrency: slots, Windows: []throttle.Window{throttle.Sliding(40, 5*time.Millisecond)}}
	var mu sync.Mutex
	var inside, most int
	var wg sync.WaitGroup
	for i := range 3 {
		l := sharing(t, s, lim)
		for range goroutines / 3 {
			wg.Go(func() {
				for n := range calls {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%7)*time.Millisecond)
					p, err := l.Acquire(ctx, throttle.Cost{})
					cancel()
					if err != nil {
						continue
					}
					mu.Lock()
					inside++
					most = max(most, inside)
					mu.Unlock()
					mu.Lock()
					inside--
					mu.Unlock()
					switch (n + i) % 3 {
					case 0:
						p.Release()
					case 1:
						p.Settle(throttle.Cost{Requests: 2})
					case 2:
						p.Cancel()
					}
				}
				assert.Zero(t, l.Stats().StoreErrors)
			})
		}
	}
	wg.Wait()
	assert.LessOrEqual(t, most, slots)
	g, err := s.Peek(t.Context(), []throttle.Demand{{Key: "shared", Limits: throttle.Limits{Concurrency: 1}}})
	require.NoError(t, err)
	assert.Zero(t, g.Wait, "no lease is left")
}
