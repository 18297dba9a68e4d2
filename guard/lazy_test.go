package guard_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

var errRejected = &adaptive.RateLimitHit{RetryAfter: time.Minute}

// Before the first rejection calls are counted although they are not admitted.
func TestCallsWithoutAdmissionAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{})
		go func() {
			_ = g.Do(context.Background(), throttle.Cost{}, func(context.Context) error { time.Sleep(time.Second); return nil })
		}()
		synctest.Wait()
		assert.Equal(t, 1, g.Stats().InFlight)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Zero(t, g.Stats().InFlight)
		assert.EqualValues(t, 1, g.Stats().Admitted)
		require.NoError(t, g.Reset())
		assert.Zero(t, g.Stats().Admitted)
	})
	g := made(t, guard.Policy{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = g.Do(context.Background(), throttle.Cost{}, func(context.Context) error { runtime.Goexit(); return nil })
	}()
	<-over
	assert.Zero(t, g.Stats().InFlight)
}

// A call that is about to be made without admission when a limit is set is
// taken back, and those that wait for it are admitted.
func TestALimitIsSetWhileACallBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{})
		var wg sync.WaitGroup
		g.Reconsiders(func() {
			require.NoError(t, g.Set(guard.Policy{Limits: throttle.Limits{Concurrency: 1}}))
			wg.Go(func() { assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing)) })
			synctest.Wait()
			assert.Equal(t, 1, g.Stats().Waiting)
		})
		wg.Wait()
		assert.EqualValues(t, 1, g.Stats().Admitted)
	})
}

// The calls that are out at the first rejection set where the controller starts, and
// their own rejections are waited out.
func TestTheFirstRejectionOfManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{})
		var wg sync.WaitGroup
		begun := time.Now()
		for range 30 {
			calls := 0
			wg.Go(func() {
				assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
					if calls++; calls == 1 {
						time.Sleep(time.Second)
						return errRejected
					}
					return nil
				}))
				assert.Equal(t, 2, calls)
			})
		}
		wg.Wait()
		assert.GreaterOrEqual(t, time.Since(begun), time.Minute)
		s := g.Stats()
		assert.EqualValues(t, 30, s.View.Hits)
		assert.Zero(t, s.InFlight)
	})
}

// A rejection may come without an error, and a used-up quota closes the guard.
func TestReportsOfCallsWithoutAdmission(t *testing.T) {
	g := made(t, guard.Policy{})
	err := g.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
		guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Terminal})
		return nil
	})
	require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	require.ErrorIs(t, g.Do(t.Context(), throttle.Cost{}, nothing), adaptive.ErrQuotaExhausted, "it is closed")
}

// Failures are retried, and an attempt can be abandoned.
func TestAttemptsWithoutAdmission(t *testing.T) {
	boom := errors.New("boom")
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Retry: &retry.Policy{MaxAttempts: 3}})
		var numbers []int
		require.ErrorIs(t, g.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
			numbers = append(numbers, inflight.Of(ctx).Number())
			return boom
		}), boom)
		assert.Equal(t, []int{1, 2, 3}, numbers)
		calls := 0
		require.ErrorIs(t, g.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
			calls++
			assert.True(t, inflight.Of(ctx).Abandon(nil))
			return boom
		}), boom)
		assert.Equal(t, 1, calls, "it is not repeated")
	})
}

// They count as calls in flight for the limits that are set meanwhile.
func TestSetWhileCallsWithoutAdmissionAreInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{})
		begin := time.Now()
		var wg sync.WaitGroup
		call := func(within, then time.Duration) {
			wg.Go(func() {
				require.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
					time.Sleep(within)
					if then > 0 { // needs admission by then, and is in flight already
						return g.Do(ctx, throttle.Cost{}, ok(then))
					}
					return nil
				}))
			})
		}
		call(10*time.Second, 0)
		call(time.Second, 2*time.Second)
		synctest.Wait()
		require.NoError(t, g.Set(guard.Policy{Limits: throttle.Limits{Concurrency: 2}}))
		wg.Go(func() {
			require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
			assert.Equal(t, time.Second, time.Since(begin), "the one inside comes later")
		})
		wg.Wait()
		assert.Zero(t, g.Stats().InFlight)
		assert.EqualValues(t, 4, g.Stats().Admitted)
	})
}

// Whatever changes the guard takes effect on the next call.
func TestAdmissionBegins(t *testing.T) {
	boom := errors.New("boom")
	for name, change := range map[string]func(g *guard.Guard){
		"Close": func(g *guard.Guard) { g.Close(boom) },
		"Set": func(g *guard.Guard) {
			assert.NoError(t, g.Set(guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}}}))
			assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		},
		"Pause": func(g *guard.Guard) { g.Pause(time.Now().Add(time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := made(t, guard.Policy{})
				require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
				change(g)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.Error(t, g.Do(ctx, throttle.Cost{}, nothing))
			})
		})
	}
	g := made(t, guard.Policy{})
	require.ErrorIs(t, g.Do(t.Context(), throttle.Cost{Tokens: -1}, nothing), throttle.ErrCost)
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(boom)
	require.ErrorIs(t, g.Do(ended, throttle.Cost{}, nothing), boom)
}
