package scenario_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

func TestJobs(t *testing.T) {
	names, items, presets := map[string]bool{}, map[int]int{}, 0
	for _, s := range scenario.Jobs() {
		assert.False(t, names[s.Name], "%s is there twice", s.Name)
		names[s.Name] = true
		items[s.Items]++
		if s.Preset != (client.Preset{}) {
			presets++
			assert.True(t, names[s.Name[:len(s.Name)-len(", preset")]], "%s: and without it", s.Name)
		}
		check(t, s)
		sound(t, s)
	}
	assert.Len(t, items, 3)
	for _, n := range []int{20, 200, 2000} {
		assert.Positive(t, items[n], n)
	}
	assert.GreaterOrEqual(t, presets, 5)
}
