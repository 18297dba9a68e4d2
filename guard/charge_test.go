package guard_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// Amounts in a response may be anything: no sum of them and no sign gets past
// the bound of one window.
func TestNoReportedCostChargesMoreThanOneWindow(t *testing.T) {
	for _, used := range []throttle.Cost{
		{Tokens: math.MaxInt64},
		{Input: math.MaxInt64, Output: math.MaxInt64},
		{Tokens: -5, Input: math.MaxInt64, Output: 5},
		{Input: math.MinInt64, Output: 1 << 40},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := made(t, guard.Policy{Limits: rate(throttle.Bucket(10, 600).Of(throttle.Tokens))})
			require.NoError(t, g.Do(t.Context(), tokens(10), func(ctx context.Context) error {
				guard.Use(ctx, used)
				return nil
			}))
			assert.Equal(t, int64(600), g.Stats().Windows[0].Spent, used)
			assert.Equal(t, time.Second, waits(t, g, 10), used)
		})
	}
}

// What a call reports before it is left behind is bounded like any other.
func TestACallThatHungIsChargedLikeAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Timeout: time.Second, Limits: rate(throttle.Bucket(10, 600).Of(throttle.Tokens))})
		over := make(chan struct{})
		defer close(over)
		assert.Error(t, g.Do(t.Context(), tokens(10), func(ctx context.Context) error {
			guard.Use(ctx, tokens(1<<40))
			<-over
			return nil
		}))
		assert.Equal(t, int64(590), g.Stats().Windows[0].Spent, "the 10 that were reserved are back after two seconds")
	})
}

// A response reports tokens. What a call weighs stays what it reserved.
func TestAReportOfTokensLeavesTheWeightOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Limits: rate(throttle.Sliding(10, time.Minute), throttle.Sliding(1000, time.Minute).Of(throttle.Tokens))})
		begin := time.Now()
		for range 3 {
			require.NoError(t, g.Do(t.Context(), throttle.Cost{Requests: 5, Tokens: 100}, func(ctx context.Context) error {
				guard.Use(ctx, tokens(50))
				return nil
			}))
		}
		assert.Equal(t, time.Minute, time.Since(begin))
		assert.Equal(t, int64(5), g.Stats().Windows[0].Spent)
		require.NoError(t, g.Do(t.Context(), throttle.Cost{Requests: 5}, func(ctx context.Context) error {
			guard.Use(ctx, throttle.Cost{Requests: 2})
			return nil
		}))
		assert.Equal(t, int64(7), g.Stats().Windows[0].Spent, "a weight can be reported, too")
	})
}
