package goodput

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSampleOf(t *testing.T) {
	for about, c := range map[string]struct {
		xs   []float64
		want sample
		text string
	}{
		"none":         {nil, sample{}, ""},
		"one":          {[]float64{97.34}, sample{mean: 97.34, n: 1}, "97.3"},
		"all the same": {[]float64{5, 5, 5}, sample{mean: 5, n: 3}, "5.0 ± 0.0"},
		// The deviation of 1 to 5 is the root of 2.5, the mean's that of 0.5.
		"five": {[]float64{1, 2, 3, 4, 5}, sample{mean: 3, half: 2.776 * 0.70710678, n: 5}, "3.0 ± 2.0"},
	} {
		t.Run(about, func(t *testing.T) {
			got := sampleOf(c.xs)
			assert.InDelta(t, c.want.mean, got.mean, 1e-9)
			assert.InDelta(t, c.want.half, got.half, 1e-6)
			assert.Equal(t, c.want.n, got.n)
			assert.Equal(t, c.text, got.String())
		})
	}
}

func TestStudent(t *testing.T) {
	assert.InDelta(t, 12.706, student(1), 1e-9)
	assert.InDelta(t, 2.042, student(30), 1e-9)
	assert.InDelta(t, 2.000, student(60), 0.002)
	assert.InDelta(t, 1.980, student(120), 0.002)
}

func TestAgreement(t *testing.T) {
	for about, c := range map[string]struct {
		ours, simulated sample
		verdict         string
		ok              bool
	}{
		"nobody simulated it": {sample{97, 1, 5}, sample{}, "", true},
		"nobody ran it":       {sample{}, sample{97, 1, 5}, "", true},
		"close":               {sample{97, 0.1, 5}, sample{100, 0.1, 5}, "yes, +3.0", true},
		"within the interval": {sample{80, 10, 5}, sample{71, 0.1, 5}, "yes, -9.0, in the interval", true},
		"too far":             {sample{97, 0.1, 5}, sample{100.1, 4, 5}, "**no, +3.1**", false},
		"one seed":            {sample{90, 0, 1}, sample{80, 0, 1}, "**no, -10.0**", false},
	} {
		t.Run(about, func(t *testing.T) {
			verdict, ok := agreement(c.ours, c.simulated)
			assert.Equal(t, c.verdict, verdict)
			assert.Equal(t, c.ok, ok)
		})
	}
}
