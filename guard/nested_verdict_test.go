package guard_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
)

func TestTheLawHearsOfAResultInsideOnce(t *testing.T) {
	law := &recording{}
	l := made(t, guard.Policy{Law: law})
	require.NoError(t, do(t.Context(), l, func(ctx context.Context) error { return do(ctx, l, ok(0)) }))
	assert.Len(t, law.results, 1)
	assert.Equal(t, io.EOF, do(t.Context(), l, func(ctx context.Context) error {
		return do(ctx, l, func(context.Context) error { return io.EOF })
	}))
	assert.Len(t, law.results, 2)
}

func TestARejectionInsideIsLearnedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(8))
		fn, calls := rejectedOnce(time.Second)
		outer := 0
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			outer++
			return do(ctx, l, fn)
		}))
		assert.Equal(t, 1, outer)
		assert.Equal(t, int64(2), calls.Load())
		assert.Equal(t, int64(1), l.Stats().View.Hits)
		assert.Equal(t, int64(1), l.Stats().View.Cuts)
		assert.Equal(t, 4, l.Stats().View.Concurrency)
	})
}

func TestARejectionGivenUpInsideIsNotRepeatedOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := made(t, capped(8)), made(t, capped(8))
		for name, inside := range map[string]*guard.Guard{"the same guard": b, "another": a} {
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
			assert.Equal(t, int64(1), inside.Stats().View.Hits, name)
			require.NoError(t, b.Reset())
			time.Sleep(2 * time.Hour)
		}
	})
}

func TestARejectionOfTheEnclosingCallItselfIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(8))
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
		assert.Equal(t, int64(1), l.Stats().View.Hits)
		assert.Equal(t, int64(1), l.Stats().View.Cuts)
		assertJittered(t, 2500*time.Millisecond, time.Since(began))
		assert.Zero(t, l.Stats().InFlight)
	})
}

func TestAUsedUpQuotaOfTheEnclosingCallCloses(t *testing.T) {
	l := made(t, capped(8))
	err := do(t.Context(), l, func(ctx context.Context) error {
		require.NoError(t, do(ctx, l, ok(0)))
		return statusError(402)
	})
	require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	assert.ErrorIs(t, l.Stats().Closed, adaptive.ErrQuotaExhausted)
}

func TestAUsedUpQuotaInsideClosesOnlyItsOwnGuard(t *testing.T) {
	a, b := made(t, capped(1)), made(t, capped(1))
	err := do(t.Context(), a, func(ctx context.Context) error {
		return do(ctx, b, func(context.Context) error { return statusError(402) })
	})
	require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	assert.NoError(t, a.Stats().Closed)
	assert.Error(t, b.Stats().Closed)
}
