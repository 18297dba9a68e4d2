package providertest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func draws(l Latency, seed uint64, n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = drawLatency(l, seed, uint64(i))
	}
	return out
}

func TestLatencyIsFixedBySeed(t *testing.T) {
	for _, l := range []Latency{Uniform{Max: time.Second}, LogNormal{Median: time.Second, Sigma: 0.5}} {
		require.Equal(t, draws(l, 1, 50), draws(l, 1, 50))
		require.NotEqual(t, draws(l, 1, 50), draws(l, 2, 50))
	}
}

func TestLatencyDistributions(t *testing.T) {
	const n = 10_000
	require.Equal(t, []time.Duration{7, 7, 7}, draws(Fixed(7), 1, 3))
	require.Equal(t, []time.Duration{7, 7, 7}, draws(Uniform{Min: 7, Max: 7}, 1, 3))

	uniform := draws(Uniform{Min: 100, Max: 199}, 1, n)
	require.Equal(t, time.Duration(100), slices.Min(uniform))
	require.Equal(t, time.Duration(199), slices.Max(uniform))
	require.InDelta(t, 0.5, shareBelow(uniform, 150), 0.02)

	tail := draws(LogNormal{Median: time.Second, Sigma: 0.5}, 1, n)
	require.InDelta(t, 0.5, shareBelow(tail, time.Second), 0.02)
	require.InDelta(t, 0.95, shareBelow(tail, 2276*time.Millisecond), 0.01)
	require.Equal(t, time.Second, slices.Max(draws(LogNormal{Median: time.Second}, 1, n)), "no sigma, no tail")
	require.Equal(t, 10*time.Second, slices.Max(draws(LogNormal{Median: time.Second, Sigma: 3}, 1, n)))
	require.Equal(t, 2*time.Second, slices.Max(draws(LogNormal{Median: time.Second, Sigma: 3, Max: 2 * time.Second}, 1, n)))
}

func shareBelow(all []time.Duration, limit time.Duration) float64 {
	n := 0
	for _, d := range all {
		if d < limit {
			n++
		}
	}
	return float64(n) / float64(len(all))
}

// backwards is a latency that makes no sense.
type backwards struct{}

func (backwards) draw(*rand.Rand) time.Duration { return -time.Hour }
