package providertest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// entry is one change to a limit on tokens: an amount that was taken, or given
// back where it is negative.
type entry struct {
	at     time.Duration
	amount int
}

// level is the oracle: what is in the bucket at now, in tokens times the time
// that one takes to refill, from the whole of its history.
func level(history []entry, each, burst int64, now time.Duration) int64 {
	credit, last := burst*each, time.Duration(0)
	for _, e := range append(slices.Clip(history), entry{at: now}) {
		credit = min(burst*each, credit+int64(e.at-last))
		credit = min(burst*each, max(-burst*each, credit-int64(e.amount)*each))
		last = e.at
	}
	return credit
}

// TestTokensAreExact drives a gate that limits tokens with arbitrary arrivals,
// settlements and pauses. Every verdict and every wait must be the oracle's to
// the nanosecond, and what was charged must never exceed what the limit allows.
func TestTokensAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		burst := rapid.IntRange(1, 50).Draw(t, "burst")
		n, per := rapid.Int64Range(1, 40).Draw(t, "n"), rapid.Int64Range(int64(time.Millisecond), int64(2*time.Second)).Draw(t, "per")
		limit := Bucket{PerSecond: float64(n) / time.Duration(per).Seconds(), Burst: burst}
		each := (per + n - 1) / n
		g := newGate(Limits{Tokens: limit}, rapid.Bool().Draw(t, "refusalsCount"), epoch)
		var (
			now     time.Duration
			history []entry
			open    []int // what the calls in flight reserved
			charged int64 // used by calls that are done, reserved by others
		)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now += time.Duration(rapid.Int64Range(0, int64(500*time.Millisecond)).Draw(t, "pause"))
			if len(open) > 0 && rapid.Bool().Draw(t, "settle") {
				used := rapid.IntRange(0, open[0]).Draw(t, "used")
				g.settle(at(now), Tokens{Total: open[0]}, Tokens{Total: used})
				g.leave()
				history = append(history, entry{now, used - open[0]})
				charged -= int64(open[0] - used)
				open = open[1:]
			} else {
				cost := rapid.IntRange(0, burst+2).Draw(t, "cost")
				refusal, wait := g.judge(at(now), Tokens{Total: cost})
				require.Equal(t, refusal, g.arrive(at(now), Tokens{Total: cost}), "judging is not taking")
				missing := int64(cost)*each - level(history, each, int64(burst), now)
				switch {
				case cost > burst:
					require.Equal(t, refusedTooLarge, refusal)
				case missing > 0:
					require.Equal(t, refusedTokens, refusal)
					require.Equal(t, time.Duration(missing), wait)
				default:
					require.Equal(t, notRefused, refusal)
					require.Zero(t, wait)
					history, open = append(history, entry{now, cost}), append(open, cost)
					charged += int64(cost)
				}
			}
			require.LessOrEqual(t, (charged-int64(burst))*each, int64(now), "more was used than refilled")
			require.Equal(t, max(0, int(level(history, each, int64(burst), now)/each)), g.pool[0].quota().remaining)
		}
	})
}
