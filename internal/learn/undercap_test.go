package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// sink has a bound that hovers cut from first on at so many refusals, each after so many calls. It returns the last opinion, and
// the bound that it was about.
func (n *Noise) sink(first float64, refusals, calls int, grown bool) (last Opinion, bound float64) {
	bound = first
	for i := range refusals {
		if i > 0 {
			bound *= 1 - hoverCut
		}
		for range calls {
			n.Sent(0)
		}
		n.Hit()
		last = n.UnderCap(bound, grown)
	}
	return last, bound
}

func TestRefusalsWhileABoundSinksAreNoise(t *testing.T) {
	for name, c := range map[string]struct {
		first           float64
		refusals, calls int
		grown           bool
		want            Opinion
	}{
		"down to half":              {10, 7, 20, false, Restore},
		"not as far":                {10, 6, 20, false, Believe},
		"a low bound":               {hoverLeast - 0.1, 20, 20, false, Believe},
		"the lowest that is not":    {hoverLeast, 7, 20, false, Restore},
		"too many":                  {10, 7, 12, false, Believe},
		"it has grown between them": {10, 7, 20, true, Believe},
		"hardly any":                {10, 20, memory + 1, false, Believe},
	} {
		t.Run(name, func(t *testing.T) {
			var n Noise
			opinion, bound := n.sink(c.first, c.refusals, c.calls, c.grown)
			assert.Equal(t, c.want, opinion)
			assert.Equal(t, c.want == Restore, n.Share > 0)
			if c.want == Restore {
				assert.InDelta(t, c.first, n.Before(), 1e-9)
				assert.InDelta(t, bound, n.Fallen(), 1e-9)
			}
		})
	}
}

// Other clients that have begun to use the cap have it refuse often at first, and then seldom.
func TestRefusalsThatBecomeRarerAsTheBoundSinksAreACaps(t *testing.T) {
	var n Noise
	n.sink(10, 4, 11, false)
	opinion, bound := n.sink(6, 3, 40, false)
	assert.Less(t, bound, 5.0)
	assert.Equal(t, Believe, opinion)
}

// What is restored is on trial for the next recent calls.
func TestANoiseThatIsMoreOnceTheBoundIsRestoredWasNone(t *testing.T) {
	for name, c := range map[string]struct {
		calls int // before four refusals in a row
		want  Opinion
		need  float64
	}{
		"at once": {0, Undo, 2 * convinced},
		"in time": {recent - 1, Undo, 2 * convinced},
		"later":   {recent, Believe, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var n Noise
			n.sink(10, 7, 20, false)
			for range c.calls {
				n.Sent(0)
			}
			var last Opinion
			for range convinced {
				last = n.UnderCap(10, false)
			}
			assert.Equal(t, c.want, last)
			assert.Equal(t, c.want == Believe, n.Share > 0)
			assert.InDelta(t, c.need, n.need, 0.1)
		})
	}
}

func TestARateThatIsRestoredIsNotOnTrial(t *testing.T) {
	var n Noise
	assert.Equal(t, Restore, noiseAfter(&n, 4, 20, 0.8, 0.9))
	for range convinced - 1 {
		assert.Equal(t, Ignore, n.Refused(90, 100, 100))
	}
	assert.Equal(t, Believe, n.Refused(90, 100, 100))
	assert.Positive(t, n.Share)
}

// Others that fill the cap refuse more of the calls as the bound grows.
func TestAShareUnderACapDoesNotRise(t *testing.T) {
	var n Noise
	n.sink(10, 7, 20, false)
	share := n.Share
	n.Absorb()
	assert.InDelta(t, share, n.Share, 1e-9)
}

// sinks is a machine with a bound that has hovered at ten, and was cut by refusals that no cap explains.
func sinks(refusal Refusal, off Rules, part bool) (r *machineRun, at float64) {
	r = hoversAtTen(false)
	r.off, r.Flight.part = off, part
	r.slowBy = 1000 // no trials
	at = 1
	for range 8 {
		for range 20 {
			at += 0.1
			r.Answered(at+0.05, r.send(at), Answer{InFlight: 50})
		}
		at++
		r.Refused(at+0.1, r.send(at), refusal)
	}
	return r, at + 0.1
}

func TestABoundThatRandomRejectionsHaveLoweredIsRestored(t *testing.T) {
	for name, c := range map[string]struct {
		refusal Refusal
		off     Rules
		part    bool
		want    int
	}{
		"at random":           {Refusal{}, 0, false, 1},
		"a cap that is named": {Refusal{Names: FlightLimit}, 0, false, 0},
		"a part":              {Refusal{}, 0, true, 0},
		"left out":            {Refusal{}, StrayRule, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := sinks(c.refusal, c.off, c.part)
			assert.Equal(t, c.want, r.reasons(WhyNoise))
			assert.Equal(t, c.want == 1, r.InFlight() >= 9)
			assert.Equal(t, hovering, r.Flight.mode)
		})
	}
}

func TestTheBoundFallsAgainIfMoreIsRejectedThen(t *testing.T) {
	r, at := sinks(Refusal{}, 0, false)
	for range convinced {
		assert.GreaterOrEqual(t, r.InFlight(), 9)
		r.Refused(at+0.2, r.send(at+0.1), Refusal{})
		at += 0.1
	}
	assert.Less(t, r.InFlight(), 6)
	assert.Equal(t, 1, r.reasons(WhyNoNoise))
	assert.Equal(t, 1, r.reasons(WhyNotYet))
	assert.True(t, r.Flight.Claimed)
}

// What no rate explains says nothing about a cap, and the other way round: a pace is no bound.
func TestUnexplainedCutsOfABoundAndOfAPaceAreNotMixed(t *testing.T) {
	var n Noise
	noiseAfter(&n, 3, 20, 0.8, 0.9)
	last, _ := n.sink(20, 1, 20, false)
	assert.Equal(t, Believe, last, "20 calls are less than half of 100 per second")

	n = Noise{}
	n.sink(10, 6, 20, false)
	for range 20 {
		n.Sent(0)
	}
	assert.Equal(t, Believe, n.Refused(4, 5, 5), "5 per second are less than 10 calls")
}

func TestABoundThatBeginsToHoverHasNoUnexplainedCuts(t *testing.T) {
	r := runMachine(Config{Initial: 20, Max: 100})
	r.noise.unexplained = 3
	r.Flight.Claimed, r.claim.shared = true, true
	r.cutFlight(1, Call{Seq: 1, At: 1, Others: 10}, false)
	assert.Zero(t, r.noise.unexplained)
}
