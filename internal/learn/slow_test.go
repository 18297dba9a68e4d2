package learn

import (
	"math"
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

// Before the second call there is no sign that the first measurement was too low: the pause between two calls is no reason to
// hurry.
func TestASlowPaceGrowsNoFasterThanCallsAreSent(t *testing.T) {
	p := Pacer{Binding: true}
	p.Cut(0.05, 600, false)
	p.Tick(20, true, true, false, 1)
	assert.InDelta(t, math.E*margin*0.05, p.Pace(), 1e-9)
}
