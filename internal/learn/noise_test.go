package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// noiseAfter sends so many calls before each refusal, of a pace that falls to
// the share of 100 a second, and measures the share measured of what is
// believed. It returns the last opinion.
func noiseAfter(n *Noise, refusals, calls int, fallen, measured float64) (last Opinion) {
	for i := range refusals {
		for range calls {
			n.Sent(0)
		}
		believed := 100.0
		if i > 0 {
			believed *= fallen
		}
		n.Hit()
		last = n.Refused(measured*believed, believed, believed, 0)
	}
	return last
}

func TestNoiseIsWhatNoPacePrevents(t *testing.T) {
	for name, c := range map[string]struct {
		refusals, calls  int
		fallen, measured float64
		want             Opinion
		share            float64
	}{
		"a limit explains three":     {3, 20, 0.8, 0.9, Believe, 0},
		"not four":                   {4, 20, 0.8, 0.9, Restore, 4.0 / 60},
		"no more than eight percent": {4, 13, 0.8, 0.9, Restore, 0.08},
		"too many for noise":         {4, 12, 0.8, 0.9, Believe, 0},
		"seldom":                     {4, memory, 0.8, 0.9, Restore, 4.0 / (3 * memory)},
		"too seldom to go on":        {9, memory + 1, 0.8, 0.9, Believe, 0},
		"the pace has not fallen":    {4, 20, 0.9, 0.9, Believe, 0},
		"at the rate believed":       {9, 20, 0.8, 0.985, Believe, 0},
		"just below":                 {4, 20, 0.8, 0.984, Restore, 4.0 / 60},
	} {
		t.Run(name, func(t *testing.T) {
			var n Noise
			assert.Equal(t, c.want, noiseAfter(&n, c.refusals, c.calls, c.fallen, c.measured))
			assert.InDelta(t, c.share, n.Share, 1e-9)
			if c.want == Restore {
				assert.InDelta(t, 100, n.Before(), 1e-9, "the rate before the first of them")
			}
		})
	}
}

// A limit that has fallen refuses fewer of the calls, the lower the pace; random rejections do not.
func TestNoiseDoesNotBecomeRarer(t *testing.T) {
	for name, c := range map[string]struct {
		gaps []int // calls before each refusal but the first
		want Opinion
	}{
		"as many each time":         {[]int{40, 40, 40}, Restore},
		"fewer":                     {[]int{95, 33, 11}, Restore},
		"in any order":              {[]int{33, 95, 60}, Restore},
		"a fallen limit":            {[]int{11, 33, 95}, Believe},
		"a fallen limit, once more": {[]int{7, 17, 45, 39}, Believe},
		"until it is regular":       {[]int{7, 17, 45, 39, 40}, Restore},
	} {
		t.Run(name, func(t *testing.T) {
			var n Noise
			last := noiseAfter(&n, 1, 0, 0.8, 0.9)
			for _, calls := range c.gaps {
				for range calls {
					n.Sent(0)
				}
				n.Hit()
				last = n.Refused(72, 80, 80, 0)
			}
			assert.Equal(t, c.want, last)
		})
	}
}

// What the rate explains takes one of the unexplained refusals back, and not the calls at which they came.
func TestNoiseDoesNotBecomeRarerBetweenWhatTheRateExplains(t *testing.T) {
	var n Noise
	last := noiseAfter(&n, 1, 0, 0.8, 0.9)
	for _, c := range []struct {
		calls    int
		measured float64
	}{{11, 72}, {33, 72}, {50, 80}, {80, 72}, {75, 72}} {
		for range c.calls {
			n.Sent(0)
		}
		n.Hit()
		last = n.Refused(c.measured, 80, 80, 0)
	}
	assert.Equal(t, Believe, last)
}

func TestNoiseBeginsAnew(t *testing.T) {
	var n Noise
	noiseAfter(&n, 3, 60, 0.8, 0.9)
	n.Forget()
	last := noiseAfter(&n, 1, 0, 0.8, 0.9)
	for _, calls := range []int{11, 33, 95} {
		for range calls {
			n.Sent(0)
		}
		n.Hit()
		last = n.Refused(72, 80, 80, 0)
	}
	assert.Equal(t, Believe, last)
}

// Most of the calls that a fallen limit refuses belong to few epochs.
func TestNoiseCountsAllRefusalsOfAnEpoch(t *testing.T) {
	for more, want := range map[int]Opinion{1: Restore, 2: Believe} {
		var n Noise
		for range 2 {
			noiseAfter(&n, 1, 20, 0.8, 0.9)
		}
		for range more {
			n.Hit()
		}
		noiseAfter(&n, 1, 20, 0.8, 0.9)
		for range 10 {
			n.Sent(0)
		}
		n.Hit()
		assert.Equal(t, want, n.Refused(72, 80, 80, 0), "%d more", more)
	}
}

func TestNoiseLessWhatTheRateExplains(t *testing.T) {
	var n Noise
	assert.Equal(t, Believe, noiseAfter(&n, 3, 20, 0.8, 0.9))
	assert.Equal(t, Believe, n.Refused(80, 80, 80, 0))
	assert.Equal(t, Believe, n.Refused(72, 80, 80, 0), "three again")
	for range 20 {
		n.Sent(0)
	}
	assert.Equal(t, Restore, n.Refused(72, 80, 80, 0))

	n = Noise{}
	noiseAfter(&n, 3, 20, 0.8, 0.9)
	n.Forget()
	assert.Equal(t, Believe, noiseAfter(&n, 3, 20, 0.8, 0.9), "they have been explained since")

	n = Noise{}
	noiseAfter(&n, 3, 20, 0.8, 0.9)
	n.Refused(100, 100, 100, 0) // back where it was: all of them were explained
	assert.Equal(t, Believe, noiseAfter(&n, 3, 20, 0.8, 0.9))
}

func TestNoiseThatIsKnownIsIgnored(t *testing.T) {
	t.Run("nothing is known", func(t *testing.T) {
		var n Noise
		assert.Equal(t, Believe, n.Absorb(0))
	})
	for name, c := range map[string]struct {
		measured float64
		want     []Opinion
	}{
		"below the rate":   {90, []Opinion{Ignore, Ignore, Ignore, Believe, Ignore}},
		"at the rate":      {100, []Opinion{Ignore, Believe, Ignore}},
		"hardly below it":  {98.5, []Opinion{Ignore, Believe, Ignore}},
		"a little further": {98.4, []Opinion{Ignore, Ignore, Ignore, Believe, Ignore}},
	} {
		t.Run(name+", all at once", func(t *testing.T) {
			var n Noise
			n.Know(0.05)
			for i, want := range c.want {
				assert.Equal(t, want, n.Refused(c.measured, 100, 100, 0), "refusal %d", i)
			}
		})
	}
	for name, c := range map[string]struct {
		calls int
		want  Opinion
	}{"at its share": {20, Ignore}, "twice as often as it may": {4, Believe}} {
		t.Run(name, func(t *testing.T) {
			var n Noise
			n.Know(0.05)
			worst := Ignore
			for range 15 {
				for range c.calls {
					n.Sent(0)
				}
				if n.Absorb(0) == Believe {
					worst = Believe
				}
			}
			assert.Equal(t, c.want, worst)
		})
	}
}

func TestNoiseShareFollowsWhatComes(t *testing.T) {
	var n Noise
	n.Know(0.05)
	for range memory {
		n.Sent(0)
	}
	assert.InDelta(t, 0.05/2.718, n.Share, 1e-3, "it ends")
	before := n.Share
	n.Absorb(0)
	assert.InDelta(t, before+1.0/memory, n.Share, 1e-9, "it goes on")
	n.Refused(100, 100, 100, 0)
	assert.InDelta(t, before+2.0/memory, n.Share, 1e-9, "likewise where the limit may be the cause")
	for range 1000 {
		n.Share = max(n.Share, 0.079)
		n.Absorb(0)
		assert.LessOrEqual(t, n.Share, 0.08)
	}
}

func TestAShareOfNoiseBeginsAnew(t *testing.T) {
	var n Noise
	n.sink(10, 7, 20, false)
	n.Sent(100)
	n.leak, n.exceeded, n.unexplained = convinced-1, convinced-1, convinced-1
	n.Know(0.05)
	for range convinced - 1 {
		assert.Equal(t, Ignore, n.UnderCap(10, 0, false))
	}
	assert.Equal(t, Believe, n.UnderCap(10, 0, false), "no bound is on trial any more")
	assert.Positive(t, n.Share)
	assert.Zero(t, n.unexplained)
	assert.False(t, n.Sent(100+remembered-1))
	assert.True(t, n.Sent(100+remembered))
}

func TestARefusalThatTheRateExplainsIsNoCredit(t *testing.T) {
	var n Noise
	noiseAfter(&n, 1, 20, 0.8, 0.9)
	for range 3 {
		n.Refused(80, 80, 80, 0)
	}
	assert.Equal(t, Restore, noiseAfter(&n, 4, 20, 0.8, 0.9))
}

func TestAShareOfNoiseEndsWithoutRefusals(t *testing.T) {
	var n Noise
	n.Sent(10)
	n.Know(noisy)
	n.Sent(20)
	assert.Equal(t, Ignore, n.Absorb(0))
	assert.False(t, n.Sent(20+remembered-1))
	assert.Positive(t, n.Share)
	assert.True(t, n.Sent(20+remembered))
	assert.Equal(t, Believe, n.Absorb(0))
	assert.False(t, n.Sent(20+remembered), "once")
}

func TestAShareThatIsRestoredIsOneThatIsKnown(t *testing.T) {
	r := runMachine(Config{Saved: Saved{Noise: 0.05}})
	for range convinced - 1 {
		assert.Equal(t, Ignore, r.noise.Absorb(0))
	}
	assert.Greater(t, r.noise.Share, 0.05)
}

func TestWhatAShareNeedsAsEvidenceFalls(t *testing.T) {
	n := Noise{need: needMost}
	for range memory {
		n.Sent(0)
	}
	assert.InDelta(t, needMost-1, n.need, 1e-9)
}

// There are too few refusals for it, or four times too many.
func TestTheEndOfAShareOfNoiseIsAnEvent(t *testing.T) {
	r := runMachine(Config{CallRate: 10})
	r.noise.Know(noisy)
	r.send(remembered)
	assert.Equal(t, 1, r.reasons(WhyNoNoise))
	r.noise.Know(noisy)
	for range convinced * convinced {
		assert.Equal(t, 1, r.reasons(WhyNoNoise))
		r.judgeRandom(remembered, r.last, &Refusal{}, Rate{})
	}
	assert.Equal(t, 2, r.reasons(WhyNoNoise))
}

func TestNoiseThatIsTooMuchWasNone(t *testing.T) {
	var n Noise
	n.Know(0.05)
	for i := range 16 {
		assert.Positive(t, n.Share, "refusal %d", i)
		n.Absorb(0)
	}
	assert.Zero(t, n.Share, "four times too many")
	assert.Equal(t, Believe, noiseAfter(&n, 7, 20, 0.8, 0.9), "it takes twice as many now")
	for range 20 {
		n.Sent(0)
	}
	assert.Equal(t, Restore, n.Refused(72, 80, 80, 0))
}

// A limit that has fallen rejects many of the calls that leave once the pace is restored.
func TestAShareThatWasJustFoundIsOnTrial(t *testing.T) {
	for name, c := range map[string]struct {
		calls int     // before four refusals in a row
		later float64 // calls after the refused ones
		ends  bool
	}{
		"at once":                     {0, 0, true},
		"in time":                     {recent, 0, true},
		"later":                       {recent + 1, 0, false},
		"in time, but heard of later": {recent + 20, 20, true},
	} {
		t.Run(name, func(t *testing.T) {
			var n Noise
			assert.Equal(t, Restore, noiseAfter(&n, 4, 20, 0.8, 0.9))
			for range c.calls {
				n.Sent(0)
			}
			for range convinced - 1 {
				assert.Equal(t, Ignore, n.Refused(90, 100, 100, c.later))
			}
			assert.Equal(t, Believe, n.Refused(90, 100, 100, c.later))
			assert.Equal(t, c.ends, n.Share == 0)
			assert.Zero(t, n.need, "there may be random rejections as well")
		})
	}
}

func TestACallOfATrialBelongsToItWheneverItsRefusalIsReceived(t *testing.T) {
	for name, c := range map[string]Config{"of a pace": {CallRate: 100}, "without one": {}} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(c)
			r.send(1)
			r.noise.find(0.05)
			first := r.send(1)
			for range recent {
				r.send(1)
			}
			for range convinced {
				assert.Positive(t, r.noise.Share)
				r.judgeRandom(1, first, &Refusal{}, Rate{})
			}
			assert.Zero(t, r.noise.Share)
		})
	}
}

// That many leave before the first of their refusals is received.
func TestTheTrialOfARestoredPaceLastsForTheCallsInFlight(t *testing.T) {
	r := runMachine(Config{CallRate: 80})
	r.send(1)
	r.rtt = 2
	noiseAfter(&r.noise, convinced-1, 20, 0.8, 0.9)
	for range 20 {
		r.noise.Sent(0)
	}
	assert.True(t, r.judgeRandom(1, r.last, &Refusal{}, Rate{Calls: 72}))
	assert.InDelta(t, 100, r.Calls.Rate, 1e-9, "restored")
	assert.InDelta(t, 200, r.noise.trial.ends-r.noise.sent, 1e-9)
}

func TestNoiseForgivesWhatIsLongAgo(t *testing.T) {
	var n Noise
	n.Know(0.05)
	for range 8 {
		for range 4 {
			n.Absorb(0)
		}
		for range 400 {
			n.Sent(0)
		}
	}
	assert.Positive(t, n.Share)
}

func TestTheShareOfNoiseIsThatOfAllRefusals(t *testing.T) {
	var n Noise
	noiseAfter(&n, 3, 40, 0.8, 0.9)
	for range 3 {
		n.Hit()
	}
	for range 40 {
		n.Sent(0)
	}
	n.Hit()
	assert.Equal(t, Restore, n.Refused(45, 50, 50, 0))
	assert.InDelta(t, 7.0/120, n.Share, 1e-9)
}

func TestEchoesCountInTheShareOfNoise(t *testing.T) {
	r := runMachine(Config{})
	var out []Call
	for range 3 {
		out = append(out, r.send(1))
	}
	for _, c := range out {
		r.Refused(1.1, c, Refusal{})
	}
	assert.Equal(t, 3.0, r.noise.refused)
}

func TestAShareThatWasNoneNeedsMoreEvidenceEachTime(t *testing.T) {
	var n Noise
	for _, want := range []float64{8, 16, needMost, needMost} {
		n.Know(0.05)
		n.exceeded, n.leak = convinced-1, convinced
		assert.Equal(t, Believe, n.Absorb(0))
		assert.Zero(t, n.Share)
		assert.InDelta(t, want, n.need, 0)
	}
}

func TestWhatExceededTheShareIsForgotten(t *testing.T) {
	n := Noise{Share: 0.05, leak: 1, exceeded: 3}
	n.Sent(0)
	assert.InDelta(t, 1-2*n.Share-leakLeast, n.leak, 1e-3)
	assert.InDelta(t, 3, n.exceeded, 0.01)
}
