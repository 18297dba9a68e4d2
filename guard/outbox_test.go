package guard_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// hanging is a store that does not answer ends, cancels, renewals and cooldowns for a while.
type hanging struct {
	quota.Store

	hangs atomic.Bool
	deaf  chan struct{} // not nil: it does not look at its context until this is closed
	ended atomic.Int64
	out   atomic.Int64
	most  atomic.Int64
}

func (s *hanging) hang(ctx context.Context) error {
	if !s.hangs.Load() {
		return nil
	}
	raise(&s.most, s.out.Add(1))
	defer s.out.Add(-1)
	if s.deaf != nil {
		<-s.deaf
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (s *hanging) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	if err := s.hang(ctx); err != nil {
		return err
	}
	err := s.Store.End(ctx, t, actual)
	if err == nil && t.ID != "" {
		s.ended.Add(1)
	}
	return err
}

func (s *hanging) Cancel(ctx context.Context, t quota.Ticket) error {
	if err := s.hang(ctx); err != nil {
		return err
	}
	err := s.Store.Cancel(ctx, t)
	if err == nil {
		s.ended.Add(1)
	}
	return err
}

func (s *hanging) Cooldown(ctx context.Context, key string, d time.Duration) error {
	if err := s.hang(ctx); err != nil {
		return err
	}
	return s.Store.Cooldown(ctx, key, d)
}

func TestTheEndOfACallDoesNotWaitForAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{Store: quota.NewMemoryStore(nil)}
		g := made(t, guard.Policy{Name: "api", Limits: slots(50), Store: store})
		store.hangs.Store(true)
		begin := time.Now()
		for range 40 {
			require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		}
		assert.Equal(t, 250*time.Millisecond, time.Since(begin), "of the first call only")
		time.Sleep(2 * time.Minute) // longer than a lease
		assert.Zero(t, store.ended.Load())
		assert.LessOrEqual(t, store.most.Load(), int64(16))
		store.hangs.Store(false)
		time.Sleep(10 * time.Second)
		assert.EqualValues(t, 40, store.ended.Load())
		assert.Zero(t, g.Stats().StoreErrors)
		other := made(t, guard.Policy{Name: "api", Limits: slots(50), Store: store})
		begin = time.Now()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { assert.NoError(t, other.Do(t.Context(), throttle.Cost{}, takes(time.Second))) })
		}
		wg.Wait()
		assert.Equal(t, time.Second, time.Since(begin), "all slots are free")
		idle(t, g, other)
	})
}

// disconnected is a store that receives no ends while it is down.
type disconnected struct {
	quota.Store

	down atomic.Bool
	err  error // nil: errDown
}

func (f *disconnected) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	if f.down.Load() {
		return cmp.Or(f.err, errDown)
	}
	return f.Store.End(ctx, t, actual)
}

// A store that fails for a moment, such as a Redis that is restarted, receives what ended meanwhile: otherwise the slots would
// be taken until the leases lapse.
func TestTheEndOfACallReachesAStoreThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &disconnected{Store: quota.NewMemoryStore(nil)}
		policy := guard.Policy{Name: "api", Limits: slots(100), Store: store}
		g := made(t, policy)
		store.down.Store(true)
		begin := time.Now()
		for range 100 {
			require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		}
		assert.Zero(t, time.Since(begin), "no call waits for it")
		time.Sleep(20 * time.Second) // the leases would lapse after 30
		store.down.Store(false)
		time.Sleep(2 * time.Second)
		state, err := store.Store.(quota.Inspector).Look(t.Context(), "api")
		require.NoError(t, err)
		assert.Zero(t, state.InFlight, "the slots are free")
		assert.Zero(t, g.Stats().StoreErrors)
		idle(t, g)
	})
}

// A store that fails whenever a call ends, such as a Redis in which the user may not do that, keeps no slots taken: the leases
// are not renewed any more.
func TestTheEndOfACallDoesNotReachAStoreThatGoesOnFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &disconnected{Store: quota.NewMemoryStore(nil)}
		policy := guard.Policy{Name: "api", Limits: slots(1000), Store: store}
		g := made(t, policy)
		store.down.Store(true)
		for range 1000 {
			require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		}
		begin := time.Now()
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing), "when a lease lapses")
		assert.LessOrEqual(t, time.Since(begin), time.Minute+2*time.Second)
		time.Sleep(time.Minute + 2*time.Second)
		assert.EqualValues(t, 1001, g.Stats().StoreErrors, "all are given up")
		state, err := store.Store.(quota.Inspector).Look(t.Context(), "api")
		require.NoError(t, err)
		assert.Zero(t, state.InFlight)
		store.down.Store(false)
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		assert.EqualValues(t, 1001, g.Stats().StoreErrors)
		idle(t, g)
	})
}

// A store that was closed is not asked again.
func TestTheEndOfACallDoesNotReachAStoreThatWasClosed(t *testing.T) {
	store := &disconnected{Store: quota.NewMemoryStore(nil), err: fmt.Errorf("store: %w", os.ErrClosed)}
	g := made(t, guard.Policy{Name: "api", Limits: slots(1), Store: store})
	store.down.Store(true)
	require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
	assert.EqualValues(t, 1, g.Stats().StoreErrors)
}

// What has no lease must not be ended twice: it is sent when the store answers again.
func TestWhatACallCostReachesAStoreThatHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{Store: quota.NewMemoryStore(nil)}
		limits := rate(throttle.Sliding(1000, time.Hour).Of(throttle.Tokens))
		g := made(t, guard.Policy{Name: "api", Limits: limits, Store: store})
		call := func(ctx context.Context) error {
			guard.Use(ctx, throttle.Cost{Tokens: 1})
			return nil
		}
		store.hangs.Store(true)
		begin := time.Now()
		for range 10 {
			require.NoError(t, g.Do(t.Context(), throttle.Cost{Tokens: 100}, call))
		}
		assert.Equal(t, time.Second, time.Since(begin), "of the first call only")
		time.Sleep(time.Minute)
		store.hangs.Store(false)
		time.Sleep(10 * time.Second)
		left, err := store.Take(t.Context(), quota.Request{Uses: true, Peek: true, Demands: []quota.Demand{{Key: "api", Limits: limits}}})
		require.NoError(t, err)
		assert.EqualValues(t, 100+9, left.Uses[0][0].Spent, "whether the first end arrived is not known")
		assert.EqualValues(t, 1, g.Stats().StoreErrors)
	})
}

func TestARetryAfterReachesAStoreThatHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{Store: quota.NewMemoryStore(nil)}
		policy := guard.Policy{Name: "api", Limits: slots(4), Store: store}
		g, other := made(t, policy), made(t, policy)
		store.hangs.Store(true)
		begin := time.Now()
		err := g.Try(t.Context(), throttle.Cost{}, func(context.Context) error {
			return &adaptive.RateLimitHit{RetryAfter: time.Minute}
		})
		require.ErrorAs(t, err, new(*adaptive.RateLimitHit))
		assert.Equal(t, 250*time.Millisecond, time.Since(begin), "and not once more for the end")
		time.Sleep(20 * time.Second)
		store.hangs.Store(false)
		time.Sleep(10 * time.Second)
		require.NoError(t, other.Do(t.Context(), throttle.Cost{}, nothing))
		assert.Equal(t, time.Minute, time.Since(begin), "as long as the provider said")
		assert.Zero(t, g.Stats().StoreErrors)
	})
}

// One call is stuck in a store that ignores its context; no other one is.
func TestNoOtherCallWaitsForAStoreThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{Store: quota.NewMemoryStore(nil), deaf: make(chan struct{})}
		g := made(t, guard.Policy{Name: "api", Limits: slots(50), Store: store})
		store.hangs.Store(true)
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing)) })
		time.Sleep(time.Second)
		begin := time.Now()
		for range 40 {
			require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		}
		assert.Zero(t, time.Since(begin))
		store.hangs.Store(false)
		close(store.deaf)
		wg.Wait()
		time.Sleep(10 * time.Second)
		assert.EqualValues(t, 41, store.ended.Load())
		assert.Zero(t, g.Stats().StoreErrors)
	})
}

// A store that answers with an error about the message is not asked again, and a store that never
// answers again is given up.
func TestAnEndThatCannotBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{Store: quota.NewMemoryStore(nil)}
		g := made(t, guard.Policy{Name: "api", Limits: slots(1000), Store: store})
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
			return store.Store.(quota.Inspector).Forget(ctx, "api")
		}))
		assert.EqualValues(t, 1, g.Stats().StoreErrors)
		store.hangs.Store(true)
		for range 1000 {
			require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		}
		time.Sleep(15*time.Minute + 10*time.Second)
		assert.EqualValues(t, 1001, g.Stats().StoreErrors, "all at once")
		assert.Zero(t, store.out.Load(), "nothing is left to do")
	})
}

func TestAStoreThatAnswersIsToldWithoutAGoroutine(t *testing.T) {
	store := &hanging{Store: quota.NewMemoryStore(nil)}
	g := made(t, guard.Policy{Name: "api", Limits: slots(1), Store: store})
	for i := range 100 {
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		require.EqualValues(t, i+1, store.ended.Load(), "before the call returns")
	}
}
