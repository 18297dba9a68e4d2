package guard_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
)

func TestNestedCallsDoNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		depth := 0
		var nest func(context.Context) error
		nest = func(ctx context.Context) error {
			assert.Equal(t, 1, l.Stats().InFlight)
			if depth++; depth == 4 {
				return nil
			}
			return do(ctx, l, nest)
		}
		require.NoError(t, do(t.Context(), l, nest))
		assert.Equal(t, 4, depth)
		assert.Zero(t, l.Stats().InFlight)
		assert.Equal(t, int64(1), l.Stats().Admitted, "one permit for all")
	})
}

func TestThreeCallsInsideOneWithABoundOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			for range 3 {
				if err := do(ctx, l, ok(time.Second)); err != nil {
					return err
				}
				assert.Zero(t, l.Stats().InFlight, "the outer call holds nothing any more")
			}
			return nil
		}))
		assert.Equal(t, int64(3), l.Stats().Admitted)
	})
}

func TestFourParentsWithThreeChildrenNeverHaveThreeInFlight(t *testing.T) {
	one := func(ctx context.Context, l *guard.Guard, g *gauge) error {
		return do(ctx, l, func(context.Context) error { g.run(time.Second); return nil })
	}
	for name, children := range map[string]func(context.Context, *guard.Guard, *gauge) error{
		"sequential": func(ctx context.Context, l *guard.Guard, g *gauge) error {
			return errors.Join(one(ctx, l, g), one(ctx, l, g), one(ctx, l, g))
		},
		"parallel": func(ctx context.Context, l *guard.Guard, g *gauge) error {
			errs := make([]error, 3)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() { errs[i] = one(ctx, l, g) })
			}
			wg.Wait()
			return errors.Join(errs...)
		},
		"deep": func(ctx context.Context, l *guard.Guard, g *gauge) error {
			return do(ctx, l, func(ctx context.Context) error {
				return errors.Join(one(ctx, l, g), do(ctx, l, func(ctx context.Context) error {
					return errors.Join(one(ctx, l, g), one(ctx, l, g))
				}))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := made(t, capped(2))
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
				assert.Zero(t, l.Stats().InFlight)
			})
		})
	}
}

func TestCallsOnOtherGuardsDoNotTakeThePermit(t *testing.T) {
	a, b := made(t, capped(1)), made(t, capped(1))
	require.NoError(t, do(t.Context(), a, func(ctx context.Context) error {
		return do(ctx, b, func(ctx context.Context) error {
			assert.Equal(t, 1, a.Stats().InFlight)
			assert.Equal(t, 1, b.Stats().InFlight)
			return do(ctx, a, func(context.Context) error { // looks past b
				assert.Equal(t, 1, a.Stats().InFlight)
				return nil
			})
		})
	}))
	assert.Equal(t, int64(1), a.Stats().Admitted)
}

func TestAPanicInsideReturnsTheSlot(t *testing.T) {
	l := made(t, capped(1))
	require.ErrorAs(t, do(t.Context(), l, func(ctx context.Context) error {
		return do(ctx, l, func(context.Context) error { panic("inside") })
	}), new(*fault.PanicError))
	assert.Zero(t, l.Stats().InFlight)
}

func TestAPanicOutsideLeavesTheCallInsideItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		var wg sync.WaitGroup
		require.Error(t, do(t.Context(), l, func(ctx context.Context) error {
			wg.Go(func() { assert.NoError(t, do(ctx, l, ok(time.Second))) })
			synctest.Wait()
			panic("outside")
		}))
		assert.Equal(t, 1, l.Stats().InFlight)
		wg.Wait()
		assert.Zero(t, l.Stats().InFlight)
	})
}

func TestAReturnOutsideLeavesTheCallInsideItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		var wg sync.WaitGroup
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			wg.Go(func() { assert.NoError(t, do(ctx, l, ok(time.Second))) })
			synctest.Wait()
			return nil
		}))
		assert.Equal(t, 1, l.Stats().InFlight)
		wg.Wait()
	})
}

// A goroutine that outlives its call gets no permit that has ended.
func TestALeakedContextHandsNothingOver(t *testing.T) {
	l := made(t, capped(1))
	var leaked context.Context
	require.NoError(t, do(t.Context(), l, func(ctx context.Context) error { leaked = ctx; return nil }))
	require.NoError(t, do(t.Context(), l, func(context.Context) error {
		ctx, cancel := context.WithCancel(leaked)
		cancel()
		return assertNotCalled(ctx, t, l, context.Canceled)
	}))
	assert.Equal(t, int64(2), l.Stats().Admitted)
}

func TestAnEndedContextTakesNothingOver(t *testing.T) {
	l := made(t, capped(1))
	require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(io.EOF)
		return assertNotCalled(ended, t, l, io.EOF)
	}))
	assert.Zero(t, l.Stats().InFlight)
}

func TestAClosedGuardHandsNothingOver(t *testing.T) {
	l := made(t, capped(2))
	require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
		l.Learn(time.Now(), adaptive.Feedback{Verdict: adaptive.Terminal, Err: statusError(402)})
		return assertNotCalled(ctx, t, l, adaptive.ErrQuotaExhausted)
	}))
	assert.Zero(t, l.Stats().InFlight)
}
