package scenario_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

func TestJobs(t *testing.T) {
	bounds := map[string]float64{
		"2000 items: 0.05 % stray 429s, calls of 6 ms": 2 / 1.56, "2000 items: 0.15 % stray 429s, calls of 6 ms": 2.6 / 1.56,
		"2000 items: 1 % stray 429s, calls of 6 ms": 10 / 1.56,
	}
	names, items, presets := map[string]bool{}, map[int]int{}, 0
	for _, s := range scenario.Jobs() {
		assert.False(t, names[s.Name], "%s is there twice", s.Name)
		names[s.Name] = true
		items[s.Items]++
		if s.Preset != (client.Preset{}) {
			presets++
			assert.True(t, names[s.Name[:len(s.Name)-len(", preset")]], "%s: and without it", s.Name)
		}
		bound, ownBound := bounds[s.Name]
		if !ownBound {
			bound = 1.2
		}
		assert.InDelta(t, bound, s.Slower, 1e-9, s.Name)
		delete(bounds, s.Name)
		check(t, s)
		sound(t, s)
	}
	assert.Empty(t, bounds, "no such job")
	assert.Len(t, items, 3)
	for _, n := range []int{20, 200, 2000} {
		assert.Positive(t, items[n], n)
	}
	assert.GreaterOrEqual(t, presets, 5)
}
