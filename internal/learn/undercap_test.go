package learn

import (
	"math"
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
		last = n.UnderCap(bound, 0, grown)
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
				assert.InDelta(t, bound, n.trial.from, 1e-9)
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

// Growth takes one of the cuts back, and all of them once the bound is where it was.
func TestGrowthExplainsCutsOfABound(t *testing.T) {
	for name, c := range map[string]struct {
		grown []float64 // bounds
		want  Opinion
	}{
		"never":           {nil, Restore},
		"once":            {[]float64{9}, Restore},
		"four times":      {[]float64{9, 8, 7, 6}, Believe},
		"to where it was": {[]float64{10}, Believe},
	} {
		t.Run(name, func(t *testing.T) {
			var n Noise
			n.sink(10, 6, 20, false)
			for _, bound := range c.grown {
				assert.Equal(t, Believe, n.UnderCap(bound, 0, true))
			}
			last, _ := n.sink(4.9, 1, 20, false)
			assert.Equal(t, c.want, last)
		})
	}
}

func TestCutsThatAreLongAgoAreNoEvidence(t *testing.T) {
	for after, want := range map[float64]Opinion{remembered - 1: Restore, remembered: Believe} {
		var n Noise
		n.sink(10, 6, 20, false)
		n.Sent(after)
		last, _ := n.sink(4.9, 1, 0, false)
		assert.Equal(t, want, last, "%v s later", after)
	}
}

// Calls that left before the trial ended belong to it, whenever their refusals are received.
func TestMoreRefusalsOnceABoundIsRestoredShowACap(t *testing.T) {
	for name, c := range map[string]struct {
		first float64 // bound
		calls int     // before four refusals in a row
		later float64 // calls after the refused ones
		want  Opinion
		need  float64
	}{
		"at once":                     {10, 0, 0, Undo, 2 * convinced},
		"in time":                     {10, recent, 0, Undo, 2 * convinced},
		"later":                       {10, recent + 1, 0, Believe, 0},
		"in time, but heard of later": {10, recent + 20, 20, Undo, 2 * convinced},
		"a large bound":               {100, 80, 0, Undo, 2 * convinced},
	} {
		t.Run(name, func(t *testing.T) {
			var n Noise
			n.sink(c.first, 7, 20, false)
			for range c.calls {
				n.Sent(0)
			}
			var last Opinion
			for range convinced {
				assert.Positive(t, n.Share)
				last = n.UnderCap(c.first, c.later, false)
			}
			assert.Equal(t, c.want, last)
			assert.Equal(t, c.want == Believe, n.Share > 0)
			assert.InDelta(t, c.need, n.need, 0.1)
		})
	}
}

// Others that fill the cap refuse more of the calls as the bound grows.
func TestAShareUnderACapIsNoLargerThanAtFirst(t *testing.T) {
	var n Noise
	n.sink(10, 7, 20, false)
	share := n.Share
	for range 30 {
		n.Sent(0)
	}
	assert.Less(t, n.Share, share)
	for range 20 {
		n.leak = 0
		assert.Equal(t, Ignore, n.UnderCap(10, 0, true))
	}
	assert.InDelta(t, share, n.Share, 1e-9)
}

func TestAShareUnderACapEndsWhateverIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		refused func(*Noise) Opinion
		ends    bool
	}{
		"a bound": {func(n *Noise) Opinion { return n.UnderCap(10, 0, false) }, true},
		"a pace":  {func(n *Noise) Opinion { return n.Refused(90, 100, 100, 0) }, false},
		"neither": {func(n *Noise) Opinion { return n.Absorb(0) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var n Noise
			n.Know(noisy)
			n.Sent(remembered - 1)
			assert.Equal(t, Ignore, c.refused(&n))
			assert.Equal(t, c.ends, n.Sent(remembered))
			assert.Equal(t, !c.ends, n.Share > 0)
		})
	}
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

func TestABoundThatRandomRejectionsHaveLoweredIsRaised(t *testing.T) {
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
			assert.Equal(t, c.want, r.reasons(WhyNoiseInFlight))
			assert.Equal(t, c.want == 1, r.noise.Share > 0)
			assert.Equal(t, hovering, r.Flight.mode)
			if c.want == 1 {
				fallen := r.noise.trial.from
				assert.InDelta(t, 2*fallen, r.Flight.bound, 1e-9)
				assert.InDelta(t, 2*fallen, r.Flight.level, 1e-9)
				assert.InDelta(t, 4*fallen, r.higher.held, 1e-9, "the next trial is of more")
				assert.Equal(t, Decision{At: r.decided[len(r.decided)-1].At, Kind: Grow, Of: OfFlight, From: math.Floor(fallen), To: math.Floor(2 * fallen), Why: WhyNoiseInFlight}, r.decided[len(r.decided)-1])
			}
		})
	}
}

// However far a bound has fallen, it is raised by no more than a trial of twice of it would.
func TestABoundIsRaisedToTwiceOfIt(t *testing.T) {
	r := hoversAtTen(false)
	r.slowBy = 1000
	r.Flight.HoverAt(50)
	r.noise = Noise{of: OfFlight, unexplained: 20, before: 1000, sent: 1000, last: 1000, refused: 20, early: 10000, between: 20}
	r.Answered(1.7, r.send(1.6), Answer{InFlight: 50})
	r.Refused(2, r.send(1.9), Refusal{})
	assert.Equal(t, 100, r.InFlight())
}

func TestTheBoundFallsAgainIfMoreIsRejectedThen(t *testing.T) {
	r, at := sinks(Refusal{}, 0, false)
	fallen := r.noise.trial.from
	for range convinced {
		assert.InDelta(t, 2*fallen, r.Flight.bound, 1e-9)
		r.Refused(at+0.2, r.send(at+0.1), Refusal{})
		at += 0.1
	}
	assert.InDelta(t, fallen, r.Flight.bound, 1e-9)
	last := r.decided[len(r.decided)-1]
	assert.Equal(t, Decision{At: last.At, Kind: Cut, Of: OfFlight, From: math.Floor(2 * fallen), To: math.Floor(fallen), Why: WhyNotYet}, last)
	assert.Equal(t, 1, r.reasons(WhyNoNoise))
	assert.Equal(t, 1, r.reasons(WhyNotYet))
	assert.True(t, r.Flight.Claimed)
	assert.InDelta(t, at+0.1, r.epoch.at, 1e-9, "the calls that are out have left before it")
	assert.InDelta(t, 2*fallen, r.higher.held, 1e-9)
}

func TestABoundThatIsLowerByNowIsNotRaised(t *testing.T) {
	r, at := sinks(Refusal{}, 0, false)
	r.Flight.HoverAt(2)
	for range convinced {
		r.Refused(at+0.2, r.send(at+0.1), Refusal{})
		at += 0.1
	}
	assert.Equal(t, 1, r.reasons(WhyNotYet))
	assert.Equal(t, 2, r.InFlight())
}

func TestOnlyABoundThatHoversUnderACapIsRaised(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Machine)
		want   bool
	}{
		"it does":        {func(*Machine) {}, true},
		"it is steady":   {func(m *Machine) { m.Flight.mode = steady }, false},
		"without a cap":  {func(m *Machine) { m.Flight.Claimed = false }, false},
		"where it grows": {func(m *Machine) { m.Flight.bound += 1.5 * hoverStep(10) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := hoversAtTen(false)
			r.noise = Noise{of: OfFlight, unexplained: 20, before: 1000, sent: 1000, last: 1000, refused: 20, early: 10000, between: 20}
			c.change(r.Machine)
			assert.Equal(t, c.want, r.randomInFlight(2, r.send(1.9)))
		})
	}
}

// No cap refuses calls that are alone, again and again.
func TestACapIsRefutedAlthoughAShareIsKnown(t *testing.T) {
	r, at := sinks(Refusal{}, 0, false)
	for i := range 2 {
		assert.True(t, r.Flight.Claimed, "refusal %d", i)
		c := r.send(at + 0.1)
		c.Others = 0
		r.Refused(at+0.2, c, Refusal{})
		at += 0.2
	}
	assert.False(t, r.Flight.Claimed)
	assert.Positive(t, r.noise.Share)
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
	assert.Equal(t, Believe, n.Refused(4, 5, 5, 0), "5 per second are less than 10 calls")
}

func TestABoundThatBeginsToHoverHasNoUnexplainedCuts(t *testing.T) {
	for name, f := range map[string]func(*machineRun){
		"it has grown":          func(r *machineRun) { r.Flight.Claimed = true; r.cutFlight(1, Call{Seq: 1, At: 1, Others: 10}, false) },
		"a cap is claimed anew": func(r *machineRun) { r.Flight.Hover(10); r.claimCap(1, Call{Seq: 1, At: 1, Others: 10}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{Initial: 20, Max: 100})
			r.noise.unexplained = 3
			r.claim.shared = true
			f(r)
			assert.Zero(t, r.noise.unexplained)
		})
	}
}
