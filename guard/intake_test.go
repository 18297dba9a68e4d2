package guard_test

import (
	"context"
	"io"
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

// withIntake returns a context with an intake that ends after d, because of io.EOF.
func withIntake(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	in, cancel := context.WithTimeoutCause(t.Context(), d, io.EOF)
	t.Cleanup(cancel)
	return intake.With(t.Context(), in)
}

func TestTheEndOfTheIntakeStopsWaitingOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		ctx := withIntake(t, time.Second)
		in, has := intake.Of(ctx)
		assert.True(t, has)
		assert.NotEqual(t, ctx, in)
		var wg sync.WaitGroup
		wg.Go(func() {
			assert.NoError(t, do(ctx, l, func(ctx context.Context) error {
				time.Sleep(time.Minute)
				return ctx.Err()
			}))
		})
		synctest.Wait()
		began := time.Now()
		assert.ErrorIs(t, do(ctx, l, ok(0)), io.EOF)
		assert.Equal(t, time.Second, time.Since(began))
		wg.Wait()
	})
}

func TestTheEndOfTheIntakeEndsTheWaitOfARejectedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, takes := range map[string]time.Duration{"while it waits": 0, "before it is rejected": time.Hour} {
			calls := 0
			err := do(withIntake(t, time.Second), made(t, capped(1)), func(context.Context) error {
				calls++
				time.Sleep(takes)
				return &adaptive.RateLimitHit{RetryAfter: time.Minute}
			})
			var hit *adaptive.RateLimitHit
			require.ErrorIs(t, err, io.EOF, name)
			require.ErrorAs(t, err, &hit, name)
			assert.Equal(t, 1, calls, name)
		}
	})
}

func TestAnEarlierEndOfTheContextCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			intake, own, want time.Duration
			err               error
		}{
			{time.Hour, time.Second, time.Second, context.DeadlineExceeded},
			{time.Second, time.Hour, time.Second, io.EOF},
			{0, time.Hour, 0, io.EOF},
		} {
			queued, gated := made(t, capped(1)), made(t, capped(1))
			holding, release := context.WithCancel(t.Context())
			go func() {
				_ = do(holding, queued, func(ctx context.Context) error {
					<-ctx.Done()
					return nil
				})
			}()
			synctest.Wait()
			for name, l := range map[string]*guard.Guard{"queued": queued, "rejected": gated} {
				ctx, cancel := context.WithTimeout(withIntake(t, tc.intake), tc.own)
				began := time.Now()
				fn, _ := rejectedOnce(10 * time.Minute)
				assert.ErrorIs(t, do(ctx, l, fn), tc.err, name)
				if name == "rejected" && tc.own < tc.intake {
					assert.Zero(t, time.Since(began), "the pause is longer than the deadline")
				} else {
					assert.Equal(t, tc.want, time.Since(began), name)
				}
				cancel()
			}
			release()
		}
	})
}

func TestAfterTheEndOfTheIntakeNoCallIsAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := withIntake(t, 0)
		require.NoError(t, assertNotCalled(ctx, t, made(t, capped(1)), io.EOF))
		bounded, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		require.NoError(t, assertNotCalled(bounded, t, made(t, capped(1)), io.EOF))
	})
}

// A run's intake would otherwise collect something of every item.
func TestAWaitLeavesNothingOnTheIntake(t *testing.T) {
	in := &counting{Context: t.Context(), done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(intake.With(t.Context(), in), time.Hour)
	defer cancel()
	require.NoError(t, do(ctx, made(t, capped(1)), ok(0)))
	assert.Equal(t, []int{1, 0}, []int{in.registered, in.live})
}

// counting is a context that counts what hangs on it, by the method that context.AfterFunc looks for.
type counting struct {
	context.Context //nolint:containedctx // it is one

	done             chan struct{}
	registered, live int
}

func (c *counting) Done() <-chan struct{} { return c.done }

func (c *counting) AfterFunc(func()) (stop func() bool) {
	c.registered++
	c.live++
	return func() bool {
		c.live--
		return true
	}
}

func TestACallInsideNeedsNoIntakeForTheSlotItTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		require.NoError(t, do(withIntake(t, time.Second), l, func(ctx context.Context) error {
			time.Sleep(time.Minute)
			require.NoError(t, do(ctx, l, ok(0)))
			assert.ErrorIs(t, do(ctx, l, ok(0)), io.EOF, "this one would have to wait")
			return nil
		}))
	})
}

func TestACallInsideOfOneWithoutAdmissionNeedsNoIntake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, other := made(t, guard.Policy{}), made(t, guard.Policy{})
		require.NoError(t, do(withIntake(t, time.Second), g, func(ctx context.Context) error {
			time.Sleep(time.Minute)
			require.NoError(t, do(ctx, g, func(ctx context.Context) error { return do(ctx, g, nothing) }))
			require.NoError(t, do(ctx, other, nothing))
			return nil
		}))
	})
}

func TestTryNeedsAnIntake(t *testing.T) {
	g := made(t, capped(2))
	ctx := withIntake(t, 0)
	require.ErrorIs(t, g.Try(ctx, throttle.Cost{}, nothing), io.EOF)
	assert.Zero(t, g.Stats().InFlight)
}

// What an enclosing call reserved is not given up for a larger cost that can no
// longer be admitted.
func TestALargerCostInsideAfterTheEndOfTheIntake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := perMinute(t, 100)
		require.NoError(t, g.Do(withIntake(t, time.Second), tokens(1), func(ctx context.Context) error {
			time.Sleep(time.Minute)
			require.ErrorIs(t, g.Do(ctx, tokens(2), nothing), io.EOF)
			assert.Equal(t, 1, g.Stats().InFlight)
			return g.Do(ctx, tokens(1), nothing)
		}))
	})
}
