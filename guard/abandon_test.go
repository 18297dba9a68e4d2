package guard_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAbandonReturnsTheSlotAndTheCallIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		l := made(t, observed(capped(1), &seen))
		calls := 0
		var hung context.Context
		var wg sync.WaitGroup
		wg.Go(func() {
			err := do(t.Context(), l, func(ctx context.Context) error { //nolint:contextcheck // hung is what comes out
				calls++
				hung = ctx // for the supervisor
				time.Sleep(time.Hour)
				return statusError(429)
			})
			assert.Equal(t, statusError(429), err)
		})
		synctest.Wait()
		assert.True(t, abandon(hung))
		assert.False(t, abandon(hung))
		assert.Zero(t, l.Stats().InFlight)
		require.NoError(t, do(t.Context(), l, ok(0)))
		wg.Wait()
		assert.Equal(t, 1, calls)
		assert.Zero(t, l.Stats().View.Hits)
		assert.Empty(t, seen.kinds())
		assert.False(t, abandon(hung))
	})
}

func TestAbandonOfACallWithACallInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		outer, inner := 0, 0
		var hung context.Context
		var wg sync.WaitGroup
		wg.Go(func() {
			err := do(t.Context(), l, func(ctx context.Context) error { //nolint:contextcheck // hung is what comes out
				outer++
				hung = ctx // for the supervisor
				_ = do(ctx, l, func(context.Context) error {
					inner++
					time.Sleep(time.Hour)
					return statusError(429)
				})
				return statusError(429)
			})
			assert.Equal(t, statusError(429), err)
		})
		synctest.Wait()
		assert.True(t, abandon(hung))
		assert.Zero(t, l.Stats().InFlight)
		wg.Wait()
		assert.Equal(t, []int{1, 1}, []int{outer, inner})
		assert.Zero(t, l.Stats().View.Hits)
	})
}

func TestALateQuotaErrorOfAnAbandonedCallDoesNotClose(t *testing.T) {
	l := made(t, capped(1))
	err := do(t.Context(), l, func(ctx context.Context) error {
		abandon(ctx)
		return statusError(402)
	})
	assert.Equal(t, statusError(402), err)
	assert.NoError(t, l.Stats().Closed)
}

func TestAnAbandonedCallHandsNothingOver(t *testing.T) {
	l := made(t, capped(1))
	require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
		abandon(ctx)
		return do(ctx, l, ok(0))
	}))
	assert.Equal(t, int64(2), l.Stats().Admitted)
}
