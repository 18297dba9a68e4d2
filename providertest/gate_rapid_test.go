package providertest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestGateKeepsItsPromises drives the gate with arbitrary arrivals and departures
// and judges it by the definitions alone: by what was admitted when, in exact
// integer arithmetic, with none of the gate's own state.
func TestGateKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := drawLimits(t)
		refusalsCount := rapid.Bool().Draw(t, "refusalsCount")
		g := newGate(limits, refusalsCount, epoch)
		var (
			now      time.Duration
			admitted []time.Duration
			inFlight int
		)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now += time.Duration(rapid.Int64Range(0, int64(300*time.Millisecond)).Draw(t, "pause"))
			if inFlight > 0 && rapid.Bool().Draw(t, "leave") {
				g.leave()
				inFlight--
				continue
			}
			if rapid.Bool().Draw(t, "set") {
				g.setLimits(limits, at(now)) // to what they are: nothing may change
			}
			allowed := admissible(limits, admitted, now, inFlight)
			refusal, wait := g.judge(at(now), Tokens{})
			got := g.arrive(at(now), Tokens{})
			require.Equal(t, refusal, got, "judging is not taking")
			switch {
			case got == notRefused:
				require.True(t, allowed, "admitted too much at %v", now)
				admitted = append(admitted, now)
				inFlight++
			case !refusalsCount:
				require.False(t, allowed, "refused for %v at %v without a reason", got, now)
				checkWait(t, limits, admitted, now, got, wait)
			}
			require.Equal(t, inFlight, g.inFlight)
		}
	})
}

func drawLimits(t *rapid.T) (l Limits) {
	if rapid.Bool().Draw(t, "cap") {
		l.Concurrency = rapid.IntRange(1, 5).Draw(t, "concurrency")
	}
	per := func(label string) time.Duration {
		return time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(2*time.Second)).Draw(t, label))
	}
	if rapid.Bool().Draw(t, "rate") {
		l.Rate = Bucket{
			PerSecond: float64(rapid.IntRange(1, 20).Draw(t, "n")) / per("per").Seconds(), Burst: rapid.IntRange(1, 8).Draw(t, "burst"),
		}
	}
	if rapid.Bool().Draw(t, "window") {
		l.Window = FixedWindow{Max: rapid.IntRange(1, 8).Draw(t, "windowMax"), Per: per("windowPer")}
	}
	require.NoError(t, l.validate())
	return l
}

// admissible is the oracle: may one more request be admitted at now, after those
// that were admitted before?
//
// A token bucket that starts full means: in every interval that ends now and
// begins with an admission, the admissions number at most Burst plus what was
// refilled in it. With a refill each ceil(1e9/PerSecond) nanoseconds that is
// (n-Burst) * ceil(1e9/PerSecond) <= length.
func admissible(l Limits, admitted []time.Duration, now time.Duration, inFlight int) bool {
	if l.Concurrency > 0 && inFlight >= l.Concurrency {
		return false
	}
	if l.Rate.PerSecond > 0 {
		each := int64(math.Ceil(1e9/l.Rate.PerSecond - 1e-6))
		for i, first := range admitted {
			n := len(admitted) - i + 1
			if int64(n-l.Rate.Burst)*each > int64(now-first) {
				return false
			}
		}
	}
	if l.Window.Max > 0 {
		n := 0
		for _, earlier := range admitted {
			if earlier/l.Window.Per == now/l.Window.Per {
				n++
			}
		}
		if n >= l.Window.Max {
			return false
		}
	}
	return true
}

// checkWait holds the advice against the oracle: after the wait there is room,
// a nanosecond before it there is none.
func checkWait(t *rapid.T, l Limits, admitted []time.Duration, now time.Duration, refusal reason, wait time.Duration) {
	l.Concurrency = 0
	if refusal == refusedConcurrency {
		require.Zero(t, wait)
		return
	}
	require.Positive(t, wait)
	require.True(t, admissible(l, admitted, now+wait, 0), "the wait of %v is too short", wait)
	require.False(t, admissible(l, admitted, now+wait-1, 0), "the wait of %v is too long", wait)
}
