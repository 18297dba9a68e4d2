package guard_test

import (
	"context"
	"sync"
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

// smaller is a store that allows less than a guard states, so that the guard
// itself never holds a call back.
func smaller(limits throttle.Limits, before, after time.Duration) *scripted {
	store := newScripted()
	store.take = func(ctx context.Context, r quota.Request) (quota.Grant, error) {
		r.Demands[0].Limits = limits
		time.Sleep(before)
		defer time.Sleep(after)
		return store.Store.Take(ctx, r)
	}
	return store
}

func using(after time.Duration, tokens int64) func(context.Context) error {
	return func(ctx context.Context) error {
		time.Sleep(after)
		guard.Use(ctx, throttle.Cost{Tokens: tokens})
		return nil
	}
}

// The end of a call has those ask again that the store has refused, also if it
// comes while the store is asked.
func TestAnEndInThisProcessIsNews(t *testing.T) {
	hourly := rate(throttle.Sliding(100, time.Hour).Of(throttle.Tokens))
	for name, answers := range map[string]time.Duration{"at once": 0, "late": 1500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := made(t, guard.Policy{Name: "api", Store: smaller(hourly, 0, answers)})
				begin := time.Now()
				var wg sync.WaitGroup
				wg.Go(func() { assert.NoError(t, g.Do(t.Context(), throttle.Cost{Tokens: 100}, using(time.Second, 1))) })
				time.Sleep(answers + time.Millisecond)
				require.NoError(t, g.Do(t.Context(), throttle.Cost{Tokens: 90}, nothing))
				assert.Less(t, time.Since(begin), time.Minute)
				wg.Wait()
				idle(t, g)
			})
		})
	}
}

func TestNewsDoNotEndACooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := smaller(rate(throttle.Sliding(100, time.Hour).Of(throttle.Tokens)), 0, 0)
		g := made(t, guard.Policy{Name: "api", Store: store})
		begin := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, g.Do(t.Context(), throttle.Cost{Tokens: 50}, using(time.Second, 1))) })
		synctest.Wait()
		require.NoError(t, store.Cooldown(t.Context(), "api", 10*time.Second))
		require.NoError(t, g.Do(t.Context(), throttle.Cost{Tokens: 50}, nothing))
		assert.Equal(t, 10*time.Second, time.Since(begin))
		wg.Wait()
		assert.EqualValues(t, 3, store.takes.Load())
	})
}

// How many calls may ask at once does not turn away those that do not wait.
func TestManyCallsThatDoNotWaitAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := smaller(slots(100), time.Second, 0)
		g := made(t, guard.Policy{Name: "api", Store: store})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { assert.NoError(t, g.Try(t.Context(), throttle.Cost{}, nothing)) })
		}
		wg.Wait()
		assert.EqualValues(t, 50, store.most.Load())
		idle(t, g)
	})
}

// A rate-limit response that arrives while a call asks the store holds it back.
func TestARejectionWhileTheStoreIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := smaller(throttle.Limits{}, 0, time.Second)
		g := made(t, guard.Policy{Name: "api", Store: store})
		begin := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			calls := 0
			assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
				if calls++; calls == 1 {
					return &adaptive.RateLimitHit{RetryAfter: time.Minute}
				}
				return nil
			}))
		})
		time.Sleep(time.Second / 2)
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		assert.Greater(t, time.Since(begin), time.Minute)
		assert.EqualValues(t, 1, store.cancels.Load())
		wg.Wait()
		idle(t, g)
	})
}
