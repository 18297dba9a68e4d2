package throttle_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/throttle"
)

func TestScaledKeepsAllButTheAmount(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	require.NoError(t, err)
	anchor := time.Date(2026, 3, 1, 9, 0, 0, 0, tokyo)
	for _, tc := range []struct {
		window throttle.Window
		share  float64
		want   throttle.Window
	}{
		{throttle.Sliding(100, time.Minute).Of(throttle.Tokens), 0.29, throttle.Sliding(29, time.Minute).Of(throttle.Tokens)},
		{throttle.Sliding(20, time.Second), 1.0 / 3, throttle.Sliding(6, time.Second)},
		{throttle.Sliding(20, time.Second), 0.01, throttle.Sliding(1, time.Second)},
		{throttle.Sliding(20, time.Second), 1, throttle.Sliding(20, time.Second)},
		{throttle.Sliding(throttle.MaxAmount, time.Second), 1, throttle.Sliding(throttle.MaxAmount, time.Second)},
		{throttle.Fixed(500, 24*time.Hour, anchor).Of(throttle.Points), 0.5, throttle.Fixed(250, 24*time.Hour, anchor).Of(throttle.Points)},
		{throttle.Bucket(3, 40), 0.5, throttle.Bucket(1.5, 20)},
		{throttle.Window{}, 0.5, throttle.Window{}},
		{throttle.Sliding(-5, time.Second), 0.5, throttle.Sliding(-5, time.Second)},
	} {
		assert.Equal(t, tc.want, tc.window.Scaled(tc.share))
	}
	for _, share := range []float64{0, -1, 1.0001, 80, math.NaN(), math.Inf(1)} {
		assert.Zero(t, throttle.Sliding(20, time.Second).Scaled(share), "%g is no share", share)
	}
}

func TestScaledIsTheShareRoundedDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, share := rapid.Int64Range(1, throttle.MaxAmount).Draw(t, "max"), rapid.Float64Range(1e-9, 1).Draw(t, "share")
		got, exact := float64(throttle.Sliding(n, time.Second).Scaled(share).Max()), share*float64(n)
		assert.LessOrEqual(t, got, math.Max(1, exact*(1+1e-12)))
		assert.Greater(t, got, exact*(1-1e-12)-1)
	})
}

// A store that is not in this module has to be able to count as the limiter does.
func TestWindowCanBeRead(t *testing.T) {
	noon := time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)
	type read struct {
		kind       throttle.WindowKind
		per        time.Duration
		anchor     time.Time
		start, end time.Time
	}
	for _, tc := range []struct {
		w    throttle.Window
		want read
	}{
		{throttle.Window{}, read{0, 0, time.Time{}, noon, noon}},
		{throttle.Sliding(5, time.Minute), read{throttle.SlidingWindow, time.Minute, time.Time{}, noon, noon}},
		{throttle.Bucket(4, 10), read{throttle.TokenBucket, 2500 * time.Millisecond, time.Time{}, noon, noon}},
		{
			throttle.Fixed(5, 24*time.Hour, noon.Add(-time.Hour)),
			read{throttle.CalendarWindow, 24 * time.Hour, noon.Add(-time.Hour), noon.Add(-time.Hour), noon.Add(23 * time.Hour)},
		},
		{throttle.Fixed(5, 0, noon), read{throttle.CalendarWindow, 0, noon, noon, noon}},
	} {
		start, end := tc.w.Period(noon)
		assert.Equal(t, tc.want, read{tc.w.Kind(), tc.w.Per(), tc.w.Anchor(), start, end}, "%s", tc.w)
	}
}
