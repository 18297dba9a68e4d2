package throttle_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/throttle"
)

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		name   string
		window throttle.Window
		want   string // "" for valid
	}{
		{"sliding", throttle.Sliding(1, 1), ""},
		{"the largest", throttle.Sliding(throttle.MaxAmount, time.Hour), ""},
		{"bucket", throttle.Bucket(1e-9, 1).Of(throttle.Points), ""},
		{"a fast bucket", throttle.Bucket(math.MaxFloat64, throttle.MaxAmount), ""},
		{"zero", throttle.Window{}, "throttle: Windows[0]: the window is empty: make it with Sliding, Bucket or Fixed"},
		{"zero of a unit", throttle.Window{}.Of(throttle.Tokens), "throttle: Windows[0]: the window is empty: make it with Sliding, Bucket or Fixed"},
		{"no max", throttle.Sliding(0, time.Second), "throttle: Windows[0].Max: 0 is not between 1 and 1099511627776"},
		{"a negative burst", throttle.Bucket(1, -1), "throttle: Windows[0].Max: -1 is not between 1 and 1099511627776"},
		{"too large", throttle.Sliding(throttle.MaxAmount+1, time.Second), "throttle: Windows[0].Max: 1099511627777 is not between 1 and 1099511627776"},
		{"no period", throttle.Sliding(1, 0), "throttle: Windows[0].Per: 0s is not a positive duration"},
		{"a negative period", throttle.Sliding(1, -1), "throttle: Windows[0].Per: -1ns is not a positive duration"},
		{"a long period", throttle.Sliding(1, math.MaxInt64), "throttle: Windows[0].Per: 2562047h47m16.854775807s is longer than a century"},
		{"the first year", throttle.Fixed(1, time.Hour, time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)), ""},
		{"the last year", throttle.Fixed(1, time.Hour, time.Date(2200, 12, 31, 0, 0, 0, 0, time.UTC)), ""},
		{"too early", throttle.Fixed(1, time.Hour, time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC)), "throttle: Windows[0].Anchor: the year 1899 is not between 1900 and 2200"},
		{"too late", throttle.Fixed(1, time.Hour, time.Date(2201, 1, 1, 0, 0, 0, 0, time.UTC)), "throttle: Windows[0].Anchor: the year 2201 is not between 1900 and 2200"},
		{"no rate", throttle.Bucket(0, 1), "throttle: Windows[0].PerSecond: 0 is not a positive, finite rate"},
		{"a negative rate", throttle.Bucket(-1, 1), "throttle: Windows[0].PerSecond: -1 is not a positive, finite rate"},
		{"a rate that is none", throttle.Bucket(math.NaN(), 1), "throttle: Windows[0].PerSecond: NaN is not a positive, finite rate"},
		{"an infinite rate", throttle.Bucket(math.Inf(1), 1), "throttle: Windows[0].PerSecond: +Inf is not a positive, finite rate"},
		{"a rate that takes too long", throttle.Bucket(1e-10, 1), "throttle: Windows[0].PerSecond: 1e-10 takes longer than a century to fill a burst of 1"},
		{"no unit", throttle.Sliding(1, 1).Of(throttle.Units), "throttle: Windows[0].Unit: Unit(5) is not a unit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lim := windows(tc.window)
			_, err := throttle.New(lim)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.want)
			require.EqualError(t, lim.Validate(), tc.want)
			require.EqualError(t, newLimiter(t, throttle.Limits{}).SetLimits(lim), tc.want)
			var field *fault.FieldError
			require.ErrorAs(t, err, &field)
			assert.Equal(t, "throttle", field.Owner)
		})
	}
}

func TestValidateTellsEverything(t *testing.T) {
	err := throttle.Limits{Concurrency: -2, Windows: []throttle.Window{
		{}, throttle.Sliding(1, time.Second), throttle.Sliding(0, -1).Of(99), throttle.Bucket(math.NaN(), 0),
	}}.Validate()
	var joined interface{ Unwrap() []error }
	require.ErrorAs(t, err, &joined)
	var fields []string
	for _, e := range joined.Unwrap() {
		var field *fault.FieldError
		require.True(t, errors.As(e, &field))
		fields = append(fields, field.Field)
	}
	assert.Equal(t, []string{
		"Concurrency", "Windows[0]", "Windows[2].Per", "Windows[2].Max", "Windows[2].Unit", "Windows[3].PerSecond", "Windows[3].Max",
	}, fields)
}

func TestSetConcurrencyRefusesANegativeNumber(t *testing.T) {
	l := newLimiter(t, throttle.Limits{Concurrency: 3})
	require.EqualError(t, l.SetConcurrency(-1), "throttle: Concurrency: -1 is negative: use 0 for unbounded, or at least 1")
	assert.Equal(t, 3, l.Limits().Concurrency)
}

func TestTheRateOfAWindow(t *testing.T) {
	for want, w := range map[float64]throttle.Window{
		10:  throttle.Sliding(600, time.Minute),
		2.5: throttle.Bucket(2.5, 40),
		0.5: throttle.Fixed(1800, time.Hour, time.Time{}).Of(throttle.Tokens),
	} {
		assert.InDelta(t, want, w.Rate(), 1e-12)
	}
}
