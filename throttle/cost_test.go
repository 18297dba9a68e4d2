package throttle_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

func TestCostOf(t *testing.T) {
	for _, tc := range []struct {
		cost throttle.Cost
		want [throttle.Units]int64
	}{
		{throttle.Cost{}, [throttle.Units]int64{1, 0, 0, 0, 0}},
		{throttle.Cost{Requests: 4}, [throttle.Units]int64{4, 0, 0, 0, 0}},
		{throttle.Cost{Input: 3, Output: 2}, [throttle.Units]int64{1, 5, 3, 2, 0}},
		{throttle.Cost{Tokens: 9, Input: 3, Output: 2}, [throttle.Units]int64{1, 9, 3, 2, 0}},
		{throttle.Cost{Points: 7}, [throttle.Units]int64{1, 0, 0, 0, 7}},
	} {
		for u := range throttle.Units {
			assert.Equal(t, tc.want[u], tc.cost.Of(u), "%s of %+v", u, tc.cost)
		}
		assert.Zero(t, tc.cost.Of(throttle.Units))
		assert.Zero(t, tc.cost.Of(99))
	}
}

func TestCostThatCannotBe(t *testing.T) {
	small := throttle.Sliding(5, time.Second).Of(throttle.OutputTokens)
	bucket := throttle.Bucket(1, 3).Of(throttle.Points)
	l := newLimiter(t, windows(small, bucket), throttle.WithName("x"))
	bad := func(u throttle.Unit, n int64) *throttle.CostError {
		return &throttle.CostError{Limiter: "x", Unit: u, Amount: n, Max: throttle.MaxAmount}
	}
	for _, tc := range []struct {
		cost throttle.Cost
		want *throttle.CostError
	}{
		{throttle.Cost{Requests: -1}, bad(throttle.Requests, -1)},
		{throttle.Cost{Tokens: -1}, bad(throttle.Tokens, -1)},
		{throttle.Cost{Input: -1, Output: 1}, bad(throttle.InputTokens, -1)},
		{throttle.Cost{Tokens: 1, Output: -1}, bad(throttle.OutputTokens, -1)},
		{throttle.Cost{Points: math.MinInt64}, bad(throttle.Points, math.MinInt64)},
		{throttle.Cost{Requests: throttle.MaxAmount + 1}, bad(throttle.Requests, throttle.MaxAmount+1)},
		{throttle.Cost{Input: math.MaxInt64, Output: 1}, bad(throttle.Tokens, math.MinInt64)},
		{throttle.Cost{Output: 6}, &throttle.CostError{Limiter: "x", Unit: throttle.OutputTokens, Amount: 6, Max: 5, Window: small}},
		{throttle.Cost{Output: 5, Points: 4}, &throttle.CostError{Limiter: "x", Unit: throttle.Points, Amount: 4, Max: 3, Window: bucket}}, // the other just fits
		{throttle.Cost{Requests: throttle.MaxAmount, Points: 4}, &throttle.CostError{Limiter: "x", Unit: throttle.Points, Amount: 4, Max: 3, Window: bucket}},
		{throttle.Cost{Points: 4}, &throttle.CostError{Limiter: "x", Unit: throttle.Points, Amount: 4, Max: 3, Window: bucket}},
	} {
		_, err := l.Acquire(t.Context(), tc.cost)
		require.Equal(t, tc.want, err, "%+v", tc.cost)
		_, err = l.TryAcquire(tc.cost)
		require.Equal(t, tc.want, err, "%+v", tc.cost)
		assert.Equal(t, tc.want, l.Wait(t.Context(), tc.cost))
		assert.False(t, l.Allow(tc.cost))
	}
	assert.True(t, l.Allow(throttle.Cost{Requests: throttle.MaxAmount, Output: 5, Points: 3}), "nothing was taken, and this just fits")
}

// Each window is asked about its own unit only.
func TestCostThatCannotBeByUnit(t *testing.T) {
	costs := [throttle.Units]func(n int64) throttle.Cost{
		func(n int64) throttle.Cost { return throttle.Cost{Requests: n} },
		func(n int64) throttle.Cost { return throttle.Cost{Tokens: n} },
		func(n int64) throttle.Cost { return throttle.Cost{Tokens: 1, Input: n} },
		func(n int64) throttle.Cost { return throttle.Cost{Tokens: 1, Output: n} },
		func(n int64) throttle.Cost { return throttle.Cost{Points: n} },
	}
	for u := range throttle.Units {
		w := throttle.Sliding(5, time.Second).Of(u)
		l := newLimiter(t, windows(w))
		for v, cost := range costs {
			if throttle.Unit(v) == u {
				assert.Equal(t, &throttle.CostError{Unit: u, Amount: 6, Max: 5, Window: w}, l.Check(cost(6)))
				assert.NoError(t, l.Check(cost(5)))
			} else {
				assert.NoError(t, l.Check(cost(6)), "%s are not limited", throttle.Unit(v))
			}
		}
	}
}
