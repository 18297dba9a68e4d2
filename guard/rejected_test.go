package guard_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
)

func TestARejectedCallWaitsForRetryAfterAndLittleMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		fn, calls := rejectedOnce(3 * time.Second)
		began := time.Now()
		require.NoError(t, do(t.Context(), l, fn))
		assertJittered(t, 3*time.Second, time.Since(began))
		assert.Equal(t, int64(2), calls.Load())
		assert.Equal(t, int64(1), l.Stats().View.Hits)
	})
}

func TestAnOverloadIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, began := 0, time.Now()
		require.NoError(t, do(t.Context(), made(t, guard.Policy{}), func(context.Context) error {
			if calls++; calls < 3 {
				return statusError(529)
			}
			return nil
		}))
		assertJittered(t, 750*time.Millisecond, time.Since(began), "a quarter of a second, then half a second")
	})
}

func TestARejectionPausesAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		began := time.Now()
		var wg sync.WaitGroup
		fn, _ := rejectedOnce(10 * time.Second)
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, fn)) })
		synctest.Wait()
		require.NoError(t, do(t.Context(), l, ok(0)))
		assertJittered(t, 10*time.Second, time.Since(began))
		wg.Wait()
	})
}

func TestARejectedCallWaitsWithoutASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		fn, _ := rejectedOnce(time.Minute)
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, fn)) })
		time.Sleep(time.Second)
		assert.Zero(t, l.Stats().InFlight)
		assert.Equal(t, 1, l.Stats().Waiting)
		wg.Wait()
	})
}

// Two calls are in flight; the second is rejected first. Both are sent again in the
// order of their first admission, before calls that came later.
func TestARejectedCallKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(2))
		var mu sync.Mutex
		var order []string
		call := func(name string, takes time.Duration, rejections int) func() {
			return func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					mu.Lock()
					order = append(order, name)
					rejected := rejections > 0
					rejections--
					mu.Unlock()
					time.Sleep(takes)
					if rejected {
						return &adaptive.RateLimitHit{RetryAfter: time.Minute}
					}
					return nil
				}))
			}
		}
		var wg sync.WaitGroup
		for _, f := range []func(){
			call("a", 2*time.Second, 2), call("b", time.Second, 1), call("c", time.Second, 0), call("d", time.Second, 0),
		} {
			wg.Go(f)
			synctest.Wait()
		}
		wg.Wait()
		assert.Equal(t, []string{"a", "b", "a", "a", "b", "c", "d"}, order)
	})
}

// Two slots are not enough for two calls once one of them was rejected.
func TestTheLawLearnsBeforeTheNextAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(2))
		g := &gauge{}
		var wg sync.WaitGroup
		var first atomic.Bool
		for range 20 {
			wg.Go(func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					g.run(time.Second)
					if first.CompareAndSwap(false, true) {
						g.most.Store(0)
						return statusError(429)
					}
					return nil
				}))
			})
		}
		time.Sleep(5 * time.Second)
		assert.Equal(t, 1, l.Stats().View.Concurrency)
		assert.LessOrEqual(t, g.most.Load(), int64(1))
		wg.Wait()
		assert.Equal(t, int64(21), g.total.Load())
	})
}
