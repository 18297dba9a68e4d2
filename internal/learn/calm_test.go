package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCalmStretchesTheCyclesOfALimitThatStays(t *testing.T) {
	type mark struct{ measured, known, stretch float64 }
	for name, marks := range map[string][]mark{
		"agreement": {{10, 10, 1}, {10, 10, 1}, {10, 10, 2}, {10, 10, 2}},
		"a high rate": {
			{48, 48, 1},
			{48, 48, 1},
			{48, 48, 2},
			{48, 48, 4},
			{48, 48, 8},
			{48, 48, 8},
			{30, 48, 1},
		},
		"within 5 percent": {{10.3, 10, 1}, {9.7, 10, 1}, {10.3, 10, 2}},
		"beyond":           {{10.6, 10, 1}, {9.4, 10, 1}, {10.6, 10, 1}, {9.4, 10, 1}},
		"a change":         {{10, 10, 1}, {10, 10, 1}, {10, 10, 2}, {5, 10, 1}, {5, 5, 1}, {5, 5, 1}, {5, 5, 2}},
		"the first mark":   {{10, 0, 1}, {10, 10, 1}, {10, 10, 1}, {10, 10, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			c := Calm{stretch: 1}
			for i, m := range marks {
				c.Marked(m.measured, m.known)
				assert.InDelta(t, m.stretch*Cycle(10), c.Cycle(10), 1e-9, "mark %d", i)
			}
		})
	}
}

// A closure begins with refusals that fit no rate. They do not undo what was known.
func TestWhatMarksAgreedAboutStaysKnown(t *testing.T) {
	c := Calm{stretch: 1}
	c.Marked(30, 0)
	c.Marked(10, 30)
	assert.Zero(t, c.Settled, "marks do not agree yet")
	c.Marked(10, 10)
	c.Marked(10.2, 10)
	assert.InDelta(t, 10.2, c.Settled, 1e-9)
	c.Marked(8, 10.2)
	assert.False(t, c.Agreed())
	assert.InDelta(t, 10.2, c.Settled, 1e-9, "until marks agree about another rate")
	c.Marked(8, 8)
	c.Marked(8, 8)
	assert.InDelta(t, 8, c.Settled, 1e-9)
}

func TestARateRefutesCapsForAQuarterOfAnHour(t *testing.T) {
	c := Calm{stretch: 1}
	agree := func(rate float64) {
		for range enough {
			c.Marked(rate, rate)
		}
	}
	agree(10)
	assert.True(t, c.RefuteCap(1000))
	agree(20)
	assert.True(t, c.RefuteCap(1000+remembered), "since then it has held again")
	assert.True(t, c.RefuteCap(1000+2*remembered-1))
	assert.False(t, c.RefuteCap(1000+2*remembered))
	assert.Zero(t, c.Settled)
}

func TestOthersLeaveLessAndLessOfASlowRate(t *testing.T) {
	type mark struct{ rate, before, calls float64 }
	less, fell := mark{0.1, 0.12, 9}, mark{0.1, 0.15, 9}
	for name, c := range map[string]struct {
		marks []mark
		want  float64
	}{
		"three find less":       {[]mark{less, less, less}, 100},
		"two":                   {[]mark{less, less}, Cycle(0.1)},
		"one finds as much":     {[]mark{less, less, {0.1, 0.104, 9}, less}, Cycle(0.1)},
		"late":                  {[]mark{less, less, {0.1, 0.12, 31}, less}, Cycle(0.1)},
		"the limit has fallen":  {[]mark{fell, fell, fell, fell}, Cycle(0.1)},
		"that is no such sign":  {[]mark{less, less, fell, less}, 100},
		"it was no slow rate":   {[]mark{{0.8, 1, 9}, {0.8, 1, 9}, {0.8, 1, 9}}, Cycle(0.1)},
		"as much again, thrice": {[]mark{less, less, less, {1, 1, 9}, {1, 1, 9}, {1, 1, 9}}, Cycle(0.1)},
	} {
		t.Run(name, func(t *testing.T) {
			k := Calm{stretch: 1}
			for _, m := range c.marks {
				k.Beside(0, m.rate, m.before, m.calls)
			}
			assert.InDelta(t, c.want, k.Cycle(0.1), 1e-9)
		})
	}
	k := Calm{stretch: 1, beside: besideMost}
	k.Beside(0, 0.1, 0.12, 9)
	assert.Equal(t, besideMost, k.beside)
	assert.InDelta(t, cycleShortest, k.Cycle(0.9), 1e-9)
	assert.InDelta(t, Cycle(1), k.Cycle(1), 1e-9, "a fast rate")
	assert.False(t, k.Expire(remembered-1))
	assert.True(t, k.Expire(remembered))
	assert.False(t, k.Expire(remembered), "once")
	assert.InDelta(t, Cycle(0.1), k.Cycle(0.1), 1e-9)
}

// Every fifth call is rejected, and each time they are further apart.
func TestASlowRateThatOthersUseIsProbedSoon(t *testing.T) {
	for name, c := range map[string]struct {
		tokens, window, slower float64
		rested, soon           bool
		share                  float64
	}{
		"others use it":           {0, 0, 1.2, false, true, 0},
		"it stays":                {0, 0, 1, false, false, 0},
		"in a window":             {0, 60, 1.2, false, false, 0},
		"tokens may have run out": {100, 0, 1.2, false, false, 0},
		"the demand has paused":   {0, 0, 1.2, true, false, 0},
		"with a share":            {0, 0, 1.2, false, false, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{CallRate: 0.5, Share: c.share})
			r.spans.Window = c.window
			at, gap := 0.0, 2.0
			for seq := int64(1); seq <= 25; seq++ {
				at += gap
				call := Call{Seq: seq, At: at, Tokens: c.tokens, Total: c.tokens * float64(seq)}
				r.Sent(call)
				if seq%5 > 0 {
					r.Answered(at, call, Answer{Used: c.tokens})
					continue
				}
				r.Calls.rested = c.rested
				r.Refused(at, call, Refusal{Asked: 1})
				gap *= c.slower
			}
			assert.Equal(t, c.soon, r.reasons(WhyBeside) == 1)
			if c.soon {
				assert.InDelta(t, besideCalls/r.Calls.Rate, r.Calls.cycle, 1e-9)
				r.Slack(at + remembered - 1)
				assert.Zero(t, r.reasons(WhyAlone))
				r.Slack(at + remembered)
				assert.Equal(t, 1, r.reasons(WhyAlone))
			} else if c.share == 0 {
				assert.GreaterOrEqual(t, r.Calls.cycle, Cycle(r.Calls.Rate))
			}
		})
	}
}
