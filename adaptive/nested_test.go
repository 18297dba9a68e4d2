package adaptive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

func TestNestedCallsDoNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(1))
		depth := 0
		var nest func(context.Context) error
		nest = func(ctx context.Context) error {
			assert.Equal(t, 1, l.Throttle().Stats().InFlight)
			if depth++; depth == 4 {
				return nil
			}
			return do(ctx, l, nest)
		}
		require.NoError(t, do(t.Context(), l, nest))
		assert.Equal(t, 4, depth)
		assert.Zero(t, l.Throttle().Stats().InFlight)
		assert.Equal(t, int64(1), l.Throttle().Stats().Admitted, "one permit for all")
	})
}

func TestThreeCallsInsideOneWithABoundOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(1))
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			for range 3 {
				if err := do(ctx, l, ok(time.Second)); err != nil {
					return err
				}
				assert.Zero(t, l.Throttle().Stats().InFlight, "the outer call holds nothing any more")
			}
			return nil
		}))
		assert.Equal(t, int64(3), l.Throttle().Stats().Admitted)
	})
}

// Letting calls inside pass without a permit had six in flight here.
func TestFourParentsWithThreeChildrenNeverHaveThreeInFlight(t *testing.T) {
	one := func(ctx context.Context, l *adaptive.Limiter, g *gauge) error {
		return do(ctx, l, func(context.Context) error { g.run(time.Second); return nil })
	}
	for name, children := range map[string]func(context.Context, *adaptive.Limiter, *gauge) error{
		"sequential": func(ctx context.Context, l *adaptive.Limiter, g *gauge) error {
			return errors.Join(one(ctx, l, g), one(ctx, l, g), one(ctx, l, g))
		},
		"parallel": func(ctx context.Context, l *adaptive.Limiter, g *gauge) error {
			errs := make([]error, 3)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() { errs[i] = one(ctx, l, g) })
			}
			wg.Wait()
			return errors.Join(errs...)
		},
		"deep": func(ctx context.Context, l *adaptive.Limiter, g *gauge) error {
			return do(ctx, l, func(ctx context.Context) error {
				return errors.Join(one(ctx, l, g), do(ctx, l, func(ctx context.Context) error {
					return errors.Join(one(ctx, l, g), one(ctx, l, g))
				}))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limiter(t, capped(2))
				g := &gauge{}
				began := time.Now()
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						assert.NoError(t, do(t.Context(), l, func(ctx context.Context) error { return children(ctx, l, g) }))
					})
				}
				wg.Wait()
				assert.Equal(t, int64(2), g.most.Load())
				assert.Equal(t, int64(12), g.total.Load())
				assert.Equal(t, 6*time.Second, time.Since(began), "and both slots are used all the time")
				assert.Zero(t, l.Throttle().Stats().InFlight)
			})
		})
	}
}

func TestCallsOnOtherLimitersDoNotTakeThePermit(t *testing.T) {
	a, b := limiter(t, capped(1)), limiter(t, capped(1))
	require.NoError(t, do(t.Context(), a, func(ctx context.Context) error {
		return do(ctx, b, func(ctx context.Context) error {
			assert.Equal(t, 1, a.Throttle().Stats().InFlight)
			assert.Equal(t, 1, b.Throttle().Stats().InFlight)
			return do(ctx, a, func(context.Context) error { // looks past b
				assert.Equal(t, 1, a.Throttle().Stats().InFlight)
				return nil
			})
		})
	}))
	assert.Equal(t, int64(1), a.Throttle().Stats().Admitted)
}

func TestAPanicInsideEndsThePermitThatWasTakenOver(t *testing.T) {
	l := limiter(t, capped(1))
	assert.Panics(t, func() {
		_ = do(t.Context(), l, func(ctx context.Context) error {
			return do(ctx, l, func(context.Context) error { panic("inside") })
		})
	})
	assert.Zero(t, l.Throttle().Stats().InFlight)
}

// The call around dies while a goroutine inside has the permit, and leaves it alone.
func TestAPanicOutsideLeavesThePermitThatWasTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(1))
		var wg sync.WaitGroup
		assert.Panics(t, func() {
			_ = do(t.Context(), l, func(ctx context.Context) error {
				wg.Go(func() { assert.NoError(t, do(ctx, l, ok(time.Second))) })
				synctest.Wait()
				panic("outside")
			})
		})
		assert.Equal(t, 1, l.Throttle().Stats().InFlight)
		wg.Wait()
		assert.Zero(t, l.Throttle().Stats().InFlight)
	})
}

// The same goes for one that returns.
func TestAReturnOutsideLeavesThePermitThatWasTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(1))
		var wg sync.WaitGroup
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			wg.Go(func() { assert.NoError(t, do(ctx, l, ok(time.Second))) })
			synctest.Wait()
			return nil
		}))
		assert.Equal(t, 1, l.Throttle().Stats().InFlight)
		wg.Wait()
	})
}

// One answer is one piece of news, however many calls it passes on its way out.
func TestTheLawHearsOfASuccessInsideOnce(t *testing.T) {
	law := &recording{}
	l := limiter(t, adaptive.Config{Law: law})
	require.NoError(t, do(t.Context(), l, func(ctx context.Context) error { return do(ctx, l, ok(0)) }))
	assert.Len(t, law.heard, 1)
	assert.Equal(t, io.EOF, do(t.Context(), l, func(ctx context.Context) error {
		return do(ctx, l, func(context.Context) error { return io.EOF })
	}))
	assert.Len(t, law.heard, 2)
}

// A goroutine that outlives the call around it may not take over a permit that has ended.
func TestALeakedContextHasNoPermitToGive(t *testing.T) {
	l := limiter(t, capped(1))
	var leaked context.Context
	require.NoError(t, do(t.Context(), l, func(ctx context.Context) error { leaked = ctx; return nil }))
	require.NoError(t, do(t.Context(), l, func(context.Context) error {
		ctx, cancel := context.WithCancel(leaked)
		cancel()
		return assertNotCalled(ctx, t, l, context.Canceled)
	}))
	assert.Equal(t, int64(2), l.Throttle().Stats().Admitted)
}

func assertNotCalled(ctx context.Context, t *testing.T, l *adaptive.Limiter, want error) error {
	t.Helper()
	err := do(ctx, l, func(context.Context) error {
		t.Error("called")
		return nil
	})
	assert.ErrorIs(t, err, want)
	return nil
}

// Taking a permit over is no way around what would turn the call away.
func TestAnEndedContextTakesNothingOver(t *testing.T) {
	l := limiter(t, capped(1))
	require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(io.EOF)
		return assertNotCalled(ended, t, l, io.EOF)
	}))
	assert.Zero(t, l.Throttle().Stats().InFlight)
}

func TestAClosedLimiterHandsNothingOver(t *testing.T) {
	l := limiter(t, capped(2))
	require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
		l.Learn(ctx, time.Now(), adaptive.Feedback{Verdict: adaptive.Terminal, Err: statusError(402)})
		return assertNotCalled(ctx, t, l, adaptive.ErrQuotaExhausted)
	}))
	assert.Zero(t, l.Throttle().Stats().InFlight)
}

func TestAHitInsideIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(8))
		fn, calls := refusedOnce(time.Second)
		outer := 0
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			outer++
			return do(ctx, l, fn)
		}))
		assert.Equal(t, 1, outer)
		assert.Equal(t, int64(2), calls.Load())
		assert.Equal(t, int64(1), l.View().Hits)
		assert.Equal(t, int64(1), l.View().Cuts)
		assert.Equal(t, 4, l.View().Concurrency)
	})
}

func TestTheOuterCallDoesNotRepeatAHitThatWasGivenUpInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := limiter(t, capped(8)), limiter(t, capped(8))
		for name, inside := range map[string]*adaptive.Limiter{"same limiter": b, "another": a} {
			outer := 0
			err := do(t.Context(), b, func(ctx context.Context) error {
				outer++
				return fmt.Errorf("item 7: %w", do(ctx, inside, func(context.Context) error {
					return &adaptive.RateLimitHit{RetryAfter: time.Hour}
				}))
			})
			var hit *adaptive.RateLimitHit
			require.ErrorAs(t, err, &hit, name)
			assert.Equal(t, 1, outer, name)
			assert.Equal(t, int64(1), inside.View().Hits, name)
			require.NoError(t, b.Reset())
			time.Sleep(2 * time.Hour)
		}
	})
}

// The call around has an answer of its own, which nobody inside has seen.
func TestAFreshRefusalOfTheOuterCallGoesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(8))
		outer, began := 0, time.Now()
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			if err := do(ctx, l, ok(time.Second)); err != nil {
				return err
			}
			if outer++; outer == 1 {
				return statusError(429)
			}
			return nil
		}))
		assert.Equal(t, 2, outer)
		assert.Equal(t, int64(1), l.View().Hits)
		assert.Equal(t, int64(1), l.View().Cuts)
		assertJittered(t, 2500*time.Millisecond, time.Since(began))
		assert.Zero(t, l.Throttle().Stats().InFlight)
	})
}

func TestAUsedUpQuotaOfTheOuterCallCloses(t *testing.T) {
	l := limiter(t, capped(8))
	err := do(t.Context(), l, func(ctx context.Context) error {
		require.NoError(t, do(ctx, l, ok(0)))
		return statusError(402)
	})
	require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	assert.ErrorIs(t, l.Throttle().Stats().Closed, adaptive.ErrQuotaExhausted)
}

// A quota that is used up on one key says nothing about the key around it.
func TestAUsedUpQuotaInsideClosesOnlyItsOwnKey(t *testing.T) {
	a, b := limiter(t, capped(1)), limiter(t, capped(1))
	err := do(t.Context(), a, func(ctx context.Context) error {
		return do(ctx, b, func(context.Context) error { return statusError(402) })
	})
	require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	assert.NoError(t, a.Throttle().Stats().Closed)
	assert.Error(t, b.Throttle().Stats().Closed)
}

// The call around reserved one request and no tokens.
func TestACallInsideSettlesToItsOwnCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := capped(5)
		c.Limits.Windows = []throttle.Window{throttle.Sliding(100, time.Minute).Of(throttle.Tokens)}
		l := limiter(t, c)
		began := time.Now()
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			return l.Do(ctx, throttle.Cost{Tokens: 100}, ok(0))
		}))
		require.NoError(t, l.Do(t.Context(), throttle.Cost{Tokens: 1}, ok(0)))
		assert.Equal(t, time.Minute, time.Since(began))
	})
}
