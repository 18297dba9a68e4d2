package guard_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// A rejected call that could only be sent again after its deadline fails at once, with
// its rejection.
func TestADeadlineTooNearToBeSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Name: "api", Limits: throttle.Limits{
			Windows: []throttle.Window{throttle.Sliding(1, time.Minute)},
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began := time.Now()
		err := do(ctx, l, func(context.Context) error { return &adaptive.RateLimitHit{Scope: "them", RetryAfter: time.Second} })
		assert.Equal(t, began, time.Now())
		var late *throttle.DeadlineError
		require.ErrorAs(t, err, &late)
		assert.Equal(t, time.Minute, late.Wait)
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, err, &hit)
		assert.Equal(t, "them", hit.Scope)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, adaptive.Unclassified, adaptive.Classify(nil, err).Verdict, "an enclosing call does not wait for it again")

		err = do(ctx, l, ok(0))
		require.ErrorAs(t, err, &late)
		assert.NotErrorAs(t, err, new(*adaptive.RateLimitHit), "it was not rejected")
	})
}

func TestTheDeadlineOfTheIntakeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Minute)}}})
		require.True(t, l.Throttle().Allow(throttle.Cost{}))
		in, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := do(intake.With(t.Context(), in), l, ok(0))
		require.ErrorAs(t, err, new(*throttle.DeadlineError))
	})
}

// Neither the rejected call nor one that comes later waits for its deadline.
func TestADeadlineWithinThePauseOfARetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Name: "api"})
		began := time.Now()
		for _, sent := range []int64{1, 0} {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Second)
			fn, calls := rejectedOnce(300 * time.Second)
			err := do(ctx, l, fn)
			cancel()
			var late *throttle.DeadlineError
			require.ErrorAs(t, err, &late)
			assert.Equal(t, 200*time.Second, late.Left)
			assert.GreaterOrEqual(t, late.Wait, 300*time.Second)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, sent, calls.Load())
			assert.Equal(t, sent == 1, errors.As(err, new(*adaptive.RateLimitHit)))
			assert.Zero(t, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Second)
		defer cancel()
		require.NoError(t, do(ctx, l, ok(0)), "there is time enough")
		assert.GreaterOrEqual(t, time.Since(began), 300*time.Second)
	})
}

// Where only slots hold calls back, those that wait get the next ones.
func TestATryCountsTheQueueForSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer := made(t, guard.Policy{Name: "outer", Limits: slots(2)})
		g := made(t, guard.Policy{Name: "inner", Within: []*guard.Guard{outer}})
		require.NoError(t, do(t.Context(), g, ok(10*time.Second)))
		retryAfter := func() time.Duration {
			var limited *throttle.LimitedError
			require.ErrorAs(t, g.Try(t.Context(), throttle.Cost{}, nothing), &limited)
			return limited.RetryAfter
		}
		for _, c := range []struct {
			calls int
			after time.Duration
		}{{2, 10 * time.Second}, {4, 20 * time.Second}, {101, 500 * time.Second}} {
			var wg sync.WaitGroup
			for range c.calls {
				wg.Go(func() { assert.NoError(t, do(t.Context(), g, ok(10*time.Second))) })
			}
			synctest.Wait()
			assert.Equal(t, c.after, retryAfter(), c.calls)
			wg.Wait()
		}
	})
}

// An attempt that returns the bare error of its context has one line, which names the setting.
func TestTheErrorOfATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := do(t.Context(), made(t, guard.Policy{Timeout: time.Second}), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		require.EqualError(t, err, "guard: the attempt took longer than its timeout of 1s")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
