package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTruthObeysAtFirst(t *testing.T) {
	for name, c := range map[string]struct{ asked, least, want float64 }{
		"as asked":       {10, 1, 10},
		"least":          {0.1, 0.3, 0.3},
		"a long closure": {600, 1, 600},
	} {
		t.Run(name, func(t *testing.T) {
			tr := Truth{}
			assert.InDelta(t, c.want, tr.Shut(5, c.asked, 100, c.least), 1e-9)
			assert.InDelta(t, c.asked, tr.Again(c.asked), 1e-9)
		})
	}
}

func TestTruthLearnsThatItIsTooShort(t *testing.T) {
	for name, c := range map[string]struct{ opened, want float64 }{
		"twice as long":     {120, 1.5},
		"an outage":         {1000, 1.5},
		"sooner than asked": {105, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tr := Truth{}
			tooShort(&tr, -2000)
			tr.Shut(100, 10, 0, 0.1)
			tr.Again(10)
			tr.Opened(c.opened)
			late := 1.0
			if c.want > 1.1 {
				late = 1 / margin // so that it is not refused by a hair
			}
			assert.InDelta(t, 10*c.want*late, tr.Shut(200, 10, 0, 0.1), 1e-9)
			assert.InDelta(t, 10*c.want, tr.Again(10), 1e-9)
		})
	}
	t.Run("only if it was refused after the wait", func(t *testing.T) {
		tr := Truth{}
		tooShort(&tr, 0)
		tr.Shut(100, 10, 0, 0.1)
		tr.Opened(180) // the demand may have paused
		assert.InDelta(t, 10, tr.Shut(200, 10, 0, 0.1), 1e-9)
	})
	t.Run("each closure by itself", func(t *testing.T) {
		tr := Truth{}
		tooShort(&tr, 0)
		tr.Shut(100, 10, 0, 0.1)
		tr.Again(10)
		tr.Shut(200, 10, 0, 0.1)
		tr.Opened(280)
		assert.InDelta(t, 10, tr.Shut(300, 10, 0, 0.1), 1e-9)
	})
}

// tooShort is a closure from now on that lasts eight times as long as asked.
func tooShort(tr *Truth, now float64) {
	const asked = 10
	tr.Shut(now, asked, 0, 0.1)
	tr.Again(asked)
	tr.Opened(now + 8*asked)
	tr.Opened(now + 9*asked) // every success is noted
}

// An outage lasts longer than its responses ask for. Waits are too short only if two closures in a row do.
func TestOneOutageMakesNoWaitTooShort(t *testing.T) {
	tr := Truth{}
	for _, now := range []float64{0, 2000, 4000} {
		tooShort(&tr, now)
		tr.Shut(now+1000, 10, 0, 0.1)
		tr.Opened(now + 1010) // as asked
	}
	assert.InDelta(t, 1, tr.mul(), 1e-9)
	tooShort(&tr, 6000)
	tooShort(&tr, 7000)
	assert.InDelta(t, 1.5, tr.mul(), 1e-9)
}

// truthTests is in which of the closures the door is tried early; opens says what comes of it.
func truthTests(tr *Truth, closures int, rate, least float64, opens bool) (tests []int) {
	for i := 1; i <= closures; i++ {
		now := 100 * float64(i)
		tr.Shut(now, 10, rate, least)
		if tr.Testing {
			tests = append(tests, i)
			if !opens {
				tr.Again(10)
			}
		}
		tr.Opened(now + 10)
	}
	return tests
}

func TestTruthTriesEarlyNowAndThen(t *testing.T) {
	for name, c := range map[string]struct {
		rate, least float64
		want        []int
	}{
		"rarer each time it was true": {1, 1, []int{2, 6, 14, 30, 60, 90, 120}},
		"worth four calls":            {0.4, 1, []int{2, 6, 14, 30, 60, 90, 120}},
		"not worth it":                {0.39, 1, nil},
		"no longer than least":        {1, 10, nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, truthTests(&Truth{}, 120, c.rate, c.least, false))
		})
	}
}

// A wait of a second is tested at the first closure, any other at the second.
func TestAShortWaitMayBeAFractionRoundedUp(t *testing.T) {
	for name, c := range map[string]struct{ asked, rate, first, second float64 }{
		"a second":                      {1, 50, settles * firstTrip, settles * firstTrip},
		"until several calls are there": {1, 10, several / 10.0, settles * firstTrip},
		"half of it, at most":           {1, 5, 0.5, 0.5},
		"more than that":                {1.5, 50, 1.5, 0.75},
		"three seconds":                 {3, 50, 3, 1.5},
		"a whole minute":                {60, 50, 60, 30},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(0)
			d.Obey(100, c.asked, c.rate, 0)
			assert.InDelta(t, 100+c.first, d.Until, 1e-9)
			d.Opened(d.Until)
			d.Refused(200)
			d.Obey(200, c.asked, c.rate, 0)
			assert.InDelta(t, 200+c.second, d.Until, 1e-9)
		})
	}
}

func TestTruthHalvesWhatIsTooLong(t *testing.T) {
	tr := Truth{}
	for i, want := range []float64{10, 5, 5, 2.5, 2.5, 1.25} { // every other closure is a test
		assert.InDelta(t, want, tr.Shut(float64(100*i), 10, 10, 0.1), 1e-9, "closure %d", i)
		tr.Opened(float64(100*i) + 11)
		assert.False(t, tr.Testing)
	}
}

func TestTruthNeverFallsToNothing(t *testing.T) {
	tr := Truth{}
	truthTests(&tr, 100, 1e6, 1e-9, true)
	assert.InDelta(t, 0.1, tr.Shut(1e5, 10, 0, 0), 1e-9)
}

func TestTruthTakesBackAHalvedFactor(t *testing.T) {
	tr := Truth{}
	truthTests(&tr, 4, 10, 0.1, true) // a quarter
	assert.InDelta(t, 2.5, tr.Shut(1000, 10, 0, 0.1), 1e-9)
	assert.InDelta(t, 10, tr.Again(10), 1e-9, "refused too early: as asked, at least")
	tr.Opened(1020)
	assert.InDelta(t, 5, tr.Shut(2000, 10, 0, 0.1), 1e-9)
	tr.Again(10)
	tr.Shut(3000, 10, 0, 0.1)
	tr.Again(10)
	tr.Opened(3020)
	tooShort(&tr, 3500)
	assert.InDelta(t, 0.5*(1+2)*10/margin, tr.Shut(4000, 10, 0, 0.1), 1e-9, "true again, and then too short")
}

func TestTheFactorOfAnEarlierOpening(t *testing.T) {
	for name, c := range map[string]struct{ factor, tried, want float64 }{
		"what was tried": {1, 0.1, 0.1},
		"half, where an answer took most of the wait": {0.5, 0.9, 0.25},
	} {
		tr := Truth{factor: c.factor, tried: c.tried, Testing: true}
		tr.Opened(1)
		assert.InDelta(t, c.want, tr.factor, 1e-9, name)
	}
}

func TestATooShortWaitIsTestedMoreRarely(t *testing.T) {
	for _, c := range []struct {
		factor, want float64
		every, then  int
	}{{0.25, 0.5, 3, 6}, {0.75, 1, 20, rarestTest}} {
		tr := Truth{factor: c.factor, every: c.every}
		tr.Again(10)
		assert.InDelta(t, c.want, tr.factor, 1e-9)
		assert.Equal(t, c.then, tr.every)
	}
}

// The first 429 of a closure may ask for nothing, and later ones for a time.
func TestAnOpeningEndsWhatWasAskedAgain(t *testing.T) {
	var r Truth
	r.Again(2)
	r.Again(2)
	r.Opened(9)
	assert.Zero(t, r.again)
}

// Without a probe it is waited for a minute at most.
func TestAFactorMakesNoLongWaitLonger(t *testing.T) {
	for asked, want := range map[float64]float64{1: 8, 20: rarestProbe, 600: 600} {
		for name, wait := range map[string]float64{
			"echo":  (&Truth{factor: longestLie}).Echo(asked),
			"again": (&Truth{factor: longestLie}).Again(asked),
			"test":  (&Truth{factor: longestLie, Testing: true}).Again(asked),
		} {
			assert.InDelta(t, want, wait, 1e-9, "%s, %v s", name, asked)
		}
		late := 1.0
		if asked == 1 {
			late = 1 / safety
		}
		assert.InDelta(t, late*want, (&Truth{factor: longestLie}).Shut(0, asked, 0, 0), 1e-9)
	}
}

// A provider that asks for a millisecond and opens after a third of a second does not make a second three.
func TestATinyRetryAfterTeachesNoFactor(t *testing.T) {
	var tr Truth
	for now := range 20 {
		at := float64(now)
		tr.Shut(at, tiny, 0, 0)
		tr.Again(tiny)
		tr.Opened(at + 0.3)
	}
	assert.InDelta(t, 1, tr.mul(), 1e-9)
}

// At this rate, no wait is long enough for a test that it is too long.
func TestThatAWaitIsTooShortExpiresAtAnyRate(t *testing.T) {
	tr := Truth{factor: longestLie}
	truthTests(&tr, 4*rarestTest, 0.01, 0.1, true)
	assert.LessOrEqual(t, tr.mul(), 1.0)
}

// A closure that was too short for a test does not make later tests rare.
func TestOneSlowClosureDoesNotPostponeTests(t *testing.T) {
	tr := Truth{factor: several, every: testAgain}
	truthTests(&tr, 1, 0.01, 0.1, true)
	assert.Equal(t, []int{2}, truthTests(&tr, 3, 100, 0.1, false))
}
