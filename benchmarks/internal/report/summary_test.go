package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestSummarize(t *testing.T) {
	assert.Equal(t, Summary{}, Summarize(nil))
	assert.Equal(t, Summary{Median: 3, Min: 3, Max: 3, N: 1}, Summarize([]float64{3}))
	assert.Equal(t, Summary{Median: 2, Min: 1, Max: 9, N: 3}, Summarize([]float64{9, 1, 2}))
	assert.Equal(t, Summary{Median: 2.5, Min: 1, Max: 9, N: 4}, Summarize([]float64{9, 1, 3, 2}))
}

// As many figures are below the median as above it, and it lies between the
// outermost.
func TestSummarizeHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		figures := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 30).Draw(t, "figures")
		before := append([]float64(nil), figures...)
		s := Summarize(figures)
		assert.Equal(t, before, figures, "the argument was changed")
		below, above := 0, 0
		for _, v := range figures {
			if v < s.Median {
				below++
			}
			if v > s.Median {
				above++
			}
			assert.LessOrEqual(t, s.Min, v)
			assert.GreaterOrEqual(t, s.Max, v)
		}
		assert.LessOrEqual(t, 2*below, len(figures))
		assert.LessOrEqual(t, 2*above, len(figures))
		assert.Equal(t, len(figures), s.N)
	})
}

func TestRatiosAreTakenWithinAPass(t *testing.T) {
	a, b := Key{"Op", "a", "ns/op"}, Key{"Op", "b", "ns/op"}
	passes := []Pass{
		{a: 10, b: 20},
		{a: 100, b: 200}, // ten times slower, as slow a ratio
		{a: 5},
		{b: 5},
		{a: 5, b: 0},
	}
	assert.Equal(t, []float64{0.5, 0.5}, Ratios(passes, a, b))
	assert.Equal(t, []float64{10, 100, 5, 5}, Values(passes, a))
}

func TestSummaryString(t *testing.T) {
	for want, s := range map[string]Summary{
		"":                       {},
		"0":                      {N: 1},
		"0.45 (0.41..0.52)":      {Median: 0.451, Min: 0.41, Max: 0.52, N: 3},
		"0.45":                   {Median: 0.4501, Min: 0.4502, Max: 0.45, N: 3},
		"0.012":                  {Median: 0.012, Min: 0.012, Max: 0.012, N: 2},
		"12.3 (9.99..123)":       {Median: 12.34, Min: 9.99, Max: 123.4, N: 3},
		"1,234,567 (999..1,000)": {Median: 1234567, Min: 999, Max: 999.6, N: 3},
		"-1,234 (-999..5)":       {Median: -1234, Min: -999, Max: 5, N: 2},
	} {
		assert.Equal(t, want, s.String())
	}
}
