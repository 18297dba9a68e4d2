package throttle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	judge "github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/throttle"
)

func TestGuard(t *testing.T) {
	const guard = 100 * time.Millisecond
	midnight := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		window throttle.Window
		second time.Duration // after the first of two calls that are as large as the window allows
		third  time.Duration
	}{
		"sliding": {throttle.Sliding(5, time.Second), 1100 * time.Millisecond, 2200 * time.Millisecond},
		"bucket":  {throttle.Bucket(5, 5), 1100 * time.Millisecond, 2200 * time.Millisecond},
		"fixed":   {throttle.Fixed(5, time.Second, midnight), time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			fake := clockwork.NewFakeClockAt(midnight)
			l := newLimiter(t, windows(tc.window), throttle.WithClock(fake), throttle.WithMargin(guard))
			require.True(t, l.Allow(throttle.Cost{Requests: 5}), "a limiter begins with all that it has")
			for _, next := range []time.Duration{tc.second, tc.third} {
				fake.Advance(midnight.Add(next).Sub(fake.Now()) - 1)
				assert.False(t, l.Allow(throttle.Cost{Requests: 5}))
				fake.Advance(1)
				assert.True(t, l.Allow(throttle.Cost{Requests: 5}))
			}
			require.NoError(t, l.SetLimits(windows(tc.window)))
			fake.Advance(tc.second - 1)
			assert.False(t, l.Allow(throttle.Cost{Requests: 5}), "new limits have the guard too")
		})
	}
	_, err := throttle.New(throttle.Limits{Concurrency: -1}, throttle.WithMargin(-1), nil)
	assert.ErrorContains(t, err, "throttle: Concurrency: ")
	assert.ErrorContains(t, err, "throttle: Margin: -1ns is negative: use the jitter of the transit, or 0")
	assert.ErrorContains(t, err, "throttle: opts[1]: nil: leave it out")
}

// Calls that arrive in any order within the guard of when they were sent keep
// the limits by the clock of the receiver; without it they do not.
func TestGuardHoldsWhereCallsArrive(t *testing.T) {
	const guard = 20 * time.Millisecond
	midnight := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rules := []judge.Rule{
		judge.Sliding(0, 5, 100*time.Millisecond), judge.Bucket(1, 100, time.Second, 7).WithSlack(time.Nanosecond),
		judge.Fixed(4, 9, 150*time.Millisecond, midnight, midnight),
	}
	lim := windows(throttle.Sliding(5, 100*time.Millisecond), throttle.Bucket(100, 7).Of(throttle.Tokens),
		throttle.Fixed(9, 150*time.Millisecond, midnight).Of(throttle.Points))
	exceeded := false
	arrive := func(t *rapid.T, guarded time.Duration) error {
		fake := clockwork.NewFakeClockAt(midnight)
		l, err := throttle.New(lim, throttle.WithClock(fake), throttle.WithMargin(guarded))
		check(t, err == nil, "%v", err)
		var calls []judge.Call
		for range 200 {
			c := throttle.Cost{Tokens: rapid.Int64Range(0, 3).Draw(t, "tokens"), Points: rapid.Int64Range(0, 2).Draw(t, "points")}
			for l.Allow(c) {
				at := fake.Since(midnight) + time.Duration(rapid.Int64Range(0, int64(guard)).Draw(t, "transit"))
				calls = append(calls, judge.Call{At: at, Done: -1, Weights: judge.Weights{1, c.Tokens, 0, 0, c.Points}})
			}
			fake.Advance(time.Duration(rapid.Int64Range(1, int64(30*time.Millisecond)).Draw(t, "step")))
		}
		return judge.Judge(slices.Clip(judge.Timeline(calls)), rules...).Err()
	}
	rapid.Check(t, func(t *rapid.T) {
		err := arrive(t, guard)
		check(t, err == nil, "%v", err)
	})
	rapid.Check(t, func(t *rapid.T) { exceeded = arrive(t, 0) != nil || exceeded })
	assert.True(t, exceeded, "the judge sees what the guard is for")
}
