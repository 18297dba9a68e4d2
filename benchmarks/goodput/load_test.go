package goodput

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLoad(t *testing.T) {
	const self = "7 (a) S 1 7 7 0 -1 0 1 2 3 4 25 15 0 0 20 0"
	before := parseTicks("cpu  100 0 50 800 50 0 0 0 9 9\ncpu0 1 2 3", "7 (a) S 1 7 7 0 -1 0 1 2 3 4 10 5 0 0 20 0")
	after := parseTicks("cpu  150 10 60 860 70 0 0 0 9 9\n", "7 (a name) of) S 1 7 7 0 -1 0 1 2 3 4 25 15 0 0 20 0")
	load := after.since(before)
	assert.True(t, load.Known)
	assert.InDelta(t, 100*70./150, load.Busy, 1e-9)
	assert.InDelta(t, 100*25./150, load.Own, 1e-9)

	for about, c := range map[string]struct{ stat, self string }{
		"nothing":         {"", ""},
		"another system":  {"intr 1 2 3 4 5 6 7 8", self},
		"not a number":    {"cpu 1 2 x 4 5 6 7 8", self},
		"a short process": {"cpu 1 2 3 4 5 6 7 8", "7 (a) S 1"},
		"a strange one":   {"cpu 1 2 3 4 5 6 7 8", "7 (a) S 1 7 7 0 -1 0 1 2 3 4 x y 0"},
	} {
		t.Run(about, func(t *testing.T) {
			assert.Equal(t, Load{}, parseTicks(c.stat, c.self).since(before))
		})
	}
	assert.Equal(t, Load{}, before.since(before), "no time has passed")
}
