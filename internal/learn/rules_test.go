package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAMarkEndsTheDarkTime(t *testing.T) {
	r := runMachine(Config{CallRate: 10})
	r.tally.dark = 50
	r.mark(60, r.send(59))
	assert.Zero(t, r.tally.dark)
}

func TestARefusalIsMeasuredByTheTimeInWhichCallsWereAdmitted(t *testing.T) {
	r := runMachine(Config{CallRate: 10})
	r.marked, r.calm.Settled, r.tally.dark = true, 10, 36
	for _, c := range r.sendMany(4) {
		r.Answered(c.At+0.1, c, Answer{Used: 100})
	}
	r.Wait(40, 100, 0)
	r.Refused(40.1, r.send(40), Refusal{Names: CallLimit})
	assert.InDelta(t, 10, r.Calls.Rate, 0.5)
}

func TestACapThatIsFoundEndsATrial(t *testing.T) {
	r := runMachine(Config{Initial: 20, Max: 100})
	r.levels.Fell(0, 40)
	r.levels.Begin(0, 5, 10)
	r.cutFlight(3, Call{Seq: 4, At: 1, Others: 10}, false)
	assert.False(t, r.levels.trying)
}

// A claim that turns out to be noise restores the bound: the trial is over.
func TestNoiseEndsATrial(t *testing.T) {
	r := runMachine(Config{Initial: 20, Max: 100})
	r.Flight.Claimed, r.marked = true, true
	r.levels.Fell(0, 40)
	for _, c := range r.sendMany(20) {
		r.Answered(c.At+0.1, c, Answer{Used: 100})
	}
	r.levels.Begin(0, 1000, 10)
	for r.Flight.Claimed {
		r.last.Others = 0 // no cap refuses a call that is alone
		r.judge(21, Call{Seq: r.last.Seq, At: 20}, &Refusal{}, false)
	}
	assert.Equal(t, WhyNoiseInFlight, r.decided[len(r.decided)-1].Why)
	assert.False(t, r.levels.trying)
}

// Refusals of calls that were sent before the first of them arrived are handled together with it.
func TestATrialThatFailsIsAnEpoch(t *testing.T) {
	r := fell()
	for _, c := range r.until(3, 33) {
		r.Answered(c.At+0.1, c, Answer{Used: 100})
	}
	first, second := r.send(33.4), r.send(33.4)
	r.Refused(33.5, first, Refusal{Names: CallLimit, Asked: 1})
	cuts := r.count(Cut)
	r.Refused(33.5, second, Refusal{Names: CallLimit, Asked: 1})
	assert.Equal(t, cuts, r.count(Cut))
}

func TestABoundThatReturnsFollowsThePace(t *testing.T) {
	f := NewFlight(4, 100)
	f.Return(8)
	assert.Equal(t, 20, f.Bound(20))
	f.Claimed = true
	assert.Equal(t, 5, f.Bound(20), "a cap does not")
}

func TestTimeBehindForeignRefusalsMeasuresNoRate(t *testing.T) {
	r := runMachine(Config{})
	r.Wait(10, 100, 0)
	r.Door.foreign = 1
	r.Wait(20, 100, 0)
	assert.Zero(t, r.tally.dark)
	r.Door.foreign = 2
	r.Wait(30, 100, 0)
	assert.InDelta(t, 10, r.tally.dark, 1e-9)
}

func TestATrialBeginsWhenACallWaits(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	r.levels.Fell(0, 40)
	r.Slack(3)
	assert.False(t, r.levels.trying)
	r.Wait(3, 100, 0)
	assert.True(t, r.levels.trying)
}

func TestNineTenthsHold(t *testing.T) {
	m := Memory{first: 2}
	m.Marked(0, 10, true)
	m.Marked(10, 5, false)
	m.Marked(20, 9.1, false)
	assert.Empty(t, trials(&m, 20, 100), "nothing has fallen any more")
	m.Marked(100, 9.1, true)
	m.Marked(110, 6.5, false)
	assert.Empty(t, trials(&m, 110, 200), "of what was measured last it is more than seven tenths")
}

func TestRefusalsWhileHeadersAreIgnoredCountForNothing(t *testing.T) {
	tr := Trust{until: 100, pause: 60}
	for range 100 {
		tr.Taken(0)
		assert.False(t, tr.Broken(50))
	}
	assert.False(t, tr.Ignored(100))
	assert.Zero(t, tr.share)
}

func TestAWindowIsFoundWithHeadersThatAreIgnored(t *testing.T) {
	for name, c := range map[string]struct{ until, window float64 }{"ignored": {100, 60}, "believed": {0, 0}} {
		r := cutOnce(Config{}, Refusal{Asked: 58})
		r.quota.Calls.Known, r.trust.until = true, c.until
		r.Answered(60.2, r.send(60.1), Answer{Used: 100})
		assert.InDelta(t, c.window, r.spans.Window, 0.2, name)
	}
}

func TestANameSaysWhoseMeterCounts(t *testing.T) {
	for _, c := range []struct {
		name          Limit
		calls, tokens Told
		want          bool
	}{
		{CallLimit, told(60, 9, 1), told(600, 0, 60), true},
		{CallLimit, Told{}, told(600, 600, 0), false},
		{TokenLimit, told(60, 0, 60), told(600, 100, 1), true},
		{TokenLimit, told(60, 60, 0), Told{}, false},
		{Unnamed, told(60, 60, 0), told(600, 99, 1), false},
		{Unnamed, told(60, 60, 0), Told{}, true},
		{Unnamed, Told{}, Told{}, false},
	} {
		r := Refusal{Names: c.name, Calls: c.calls, Tokens: c.tokens}
		assert.Equal(t, c.want, r.showsRoom(100), "%+v", r)
	}
}

// Rules that are left out do nothing.
func TestRulesThatAreLeftOut(t *testing.T) {
	for off, memory := range map[Rules]bool{0: true, MemoryRule: false} {
		r := runMachine(Config{Initial: 10, Max: 100, Off: off})
		r.levels.Fell(0, 40)
		r.Wait(3, 100, 0)
		assert.Equal(t, memory, r.levels.trying)
	}
	for off, tries := range map[Rules]bool{0: true, TrustRule: false} {
		m := New(Config{Initial: 4, Max: 50, Off: off})
		m.quota.Observe(1, Call{Seq: 1, Total: 100}, 1, Told{Known: true, Limit: 60, Reset: 60}, Told{}, &m.tally)
		m.quota.draft.held = draftFirst
		assert.Equal(t, tries, m.quota.wait(1, 0, unspent{}, &m.tally).tests)
	}
	for off, hovers := range map[Rules]bool{0: true, HoverRule: false} {
		m := New(Config{Initial: 4, Max: 50, Off: off})
		m.claim.shared = true
		m.cutFlight(1, Call{Others: 5}, false)
		assert.Equal(t, hovers, m.Flight.Hovers() > 0)
	}
	for off, dark := range map[Rules]float64{0: 10, MeasureRule: 5} {
		m := New(Config{Initial: 4, Max: 50, Off: off})
		m.calm.Settled, m.tally.dark = 10, 5
		assert.InDelta(t, dark, m.correctDark(Rate{Calls: 5, Span: 10}).Calls, 1e-9)
	}
	for off, ignored := range map[Rules]bool{0: true, TrustRule: false} {
		r := runMachine(Config{Off: off})
		for _, c := range r.sendMany(60) {
			if c.Seq%2 == 0 {
				r.Answered(c.At+0.1, c, Answer{Used: 100})
			} else {
				r.Refused(c.At+0.1, c, Refusal{Calls: told(60, 30, 30)})
			}
		}
		assert.Equal(t, ignored, r.trust.pause > 0)
	}
	for off, cut := range map[Rules]bool{0: true, OverloadRule: false} {
		r := runMachine(Config{Initial: 20, Max: 100, Off: off})
		at := 0.0
		for range 10 {
			at += 2
			c := r.send(at)
			c.Others = 19
			r.answerOverload(at+0.1, c, &Refusal{})
		}
		assert.Equal(t, cut, r.InFlight() < 20)
	}
}
