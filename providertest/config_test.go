package providertest

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// fields lists the fields that an error of New or SetLimits names.
func fields(err error) (names []string) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			names = append(names, fields(e)...)
		}
	} else if one, ok := errors.AsType[*configError](err); ok {
		names = append(names, one.Field)
	}
	return names
}

func TestNewNamesEveryProblem(t *testing.T) {
	_, err := New(Config{
		Limits: Limits{
			Concurrency: -1,
			Rate:        Bucket{PerSecond: -1, Burst: -1},
			Window:      FixedWindow{Per: -1},

			InputTokens: Bucket{PerSecond: 1},
		},
		Dialect:        Generic + 1,
		Pace:           -1,
		RetryAfter:     99,
		Latency:        LogNormal{Median: -1, Sigma: math.NaN(), Max: -1},
		RefusalLatency: -1,
	})
	require.Equal(t, []string{
		"Limits.Concurrency",
		"Limits.Rate.PerSecond", "Limits.Rate.Burst",
		"Limits.Window.Max", "Limits.Window.Per",
		"Limits.InputTokens.Burst",
		"RetryAfter",
		"Dialect",
		"Latency.Median", "Latency.Sigma", "Latency.Max",
		"Pace",
		"RefusalLatency",
	}, fields(err))
	require.ErrorContains(t, err, "providertest: Limits.Concurrency: must not be negative")
}

func TestConfigBounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		want   []string
	}{
		{"zero", Config{}, nil},
		{"a million per second", Config{Limits: Limits{Rate: Bucket{PerSecond: 1e6, Burst: 1e6}}}, nil},
		{"more than a million", Config{Limits: Limits{Rate: Bucket{PerSecond: 1e6 + 1, Burst: 1}}}, []string{"Limits.Rate.PerSecond"}},
		{"no number", Config{Limits: Limits{Rate: Bucket{PerSecond: math.NaN(), Burst: 1}}}, []string{"Limits.Rate.PerSecond"}},
		{"infinite", Config{Limits: Limits{Rate: Bucket{PerSecond: math.Inf(1), Burst: 1}}}, []string{"Limits.Rate.PerSecond"}},
		{"next to nothing", Config{Limits: Limits{Rate: Bucket{PerSecond: math.SmallestNonzeroFloat64, Burst: 1}}}, []string{"Limits.Rate.PerSecond"}},
		{"refills in 366 days", Config{Limits: Limits{Rate: Bucket{PerSecond: 2 / longest.Seconds(), Burst: 2}}}, nil},
		{"refills too slowly", Config{Limits: Limits{Rate: Bucket{PerSecond: 1 / longest.Seconds(), Burst: 2}}}, []string{"Limits.Rate.PerSecond"}},
		{"huge burst", Config{Limits: Limits{Rate: Bucket{PerSecond: 1, Burst: math.MaxInt}}}, []string{"Limits.Rate.PerSecond"}},
		{"tokens", Config{Limits: Limits{Tokens: Bucket{Burst: 1}}}, []string{"Limits.Tokens.PerSecond"}},
		{"output", Config{Limits: Limits{OutputTokens: Bucket{PerSecond: 1}}}, []string{"Limits.OutputTokens.Burst"}},
		{"burst alone", Config{Limits: Limits{Rate: Bucket{Burst: 1}}}, []string{"Limits.Rate.PerSecond"}},
		{"endless window", Config{Limits: Limits{Window: FixedWindow{Max: 1, Per: longest + 1}}}, []string{"Limits.Window.Per"}},
		{"fixed", Config{Latency: Fixed(-1)}, []string{"Latency"}},
		{"uniform", Config{Latency: Uniform{Min: -1, Max: -2}}, []string{"Latency.Min", "Latency.Max"}},
		{"a pointer", Config{Latency: &Uniform{Min: 2, Max: 1}}, []string{"Latency.Max"}},
		{"a nil pointer", Config{Latency: (*LogNormal)(nil)}, []string{"Latency"}},
		{"one's own latency", Config{Latency: backwards{}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, fields(c.config.validate()))
		})
	}
}
