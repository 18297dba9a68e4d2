package gateway

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// A rate is found when it was measured, and not when it was assumed.
func TestFound(t *testing.T) {
	t.Parallel()
	pace := [throttle.Units]float64{throttle.Requests: 12, throttle.Tokens: 5000}
	for want, v := range map[string]adaptive.View{
		"met no limit": {Pace: pace, Concurrency: 4}, // of a preset
		"met a limit, but has not found its rate yet": {Pace: pace, Concurrency: 4, Hits: 3, Cuts: 1},
		"found 4 calls in flight":                     {Concurrency: 4, Hits: 3, Cuts: 1},
		"found 12.0/s and 5000 tokens/s":              {Pace: pace, Concurrency: 4, Hits: 3, Cuts: 2},
		"found 30.0/min":                              {Pace: [throttle.Units]float64{throttle.Requests: 0.5}, Cuts: 1}, // by headers
	} {
		assert.Equal(t, want, found(&v))
	}
}
