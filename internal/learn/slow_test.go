package learn

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Without a Retry-After, a slow limit is taken for a cap at first. The few calls admitted meanwhile show how slow it is. If only
// the last fraction of a second counted, it would take a dozen decreases to get there, with eight rejected probes each.
func TestASlowLimitIsMeasuredOverTheTimeItWasTakenForACap(t *testing.T) {
	r := runMachine(Config{Initial: 4, Max: 10})
	r.play(0, 600, func(float64) float64 { return 0.05 }, Refusal{})
	i := slices.IndexFunc(r.decided, func(d Decision) bool { return d.Why == WhyRate })
	require.GreaterOrEqual(t, i, 0)
	assert.Less(t, r.decided[i].To, 0.1)
}
