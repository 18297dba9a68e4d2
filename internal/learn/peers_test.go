package learn

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
			var p Peers
			for _, m := range c.marks {
				p.Marked(0, m.rate, m.before, m.calls)
			}
			assert.InDelta(t, c.want, p.Cycle(Cycle(0.1), 0.1), 1e-9)
		})
	}
	p := Peers{signs: peersMost}
	p.Marked(0, 0.1, 0.12, 9)
	assert.EqualValues(t, peersMost, p.signs)
	assert.InDelta(t, cycleShortest, p.Cycle(Cycle(0.9), 0.9), 1e-9)
	assert.InDelta(t, Cycle(1), p.Cycle(Cycle(1), 1), 1e-9, "a fast rate")
	assert.False(t, p.Expire(remembered-1))
	assert.True(t, p.Expire(remembered))
	assert.False(t, p.Expire(remembered), "once")
	assert.InDelta(t, Cycle(0.1), p.Cycle(Cycle(0.1), 0.1), 1e-9)
}

func TestTheMarksOfAFastRateThatOthersUseKeepDiffering(t *testing.T) {
	type mark struct{ rate, calls float64 } // after one at 40/s
	less, more, same := mark{38.5, 31}, mark{41.5, 31}, mark{40.5, 31}
	for name, c := range map[string]struct {
		marks []mark
		want  float64
	}{
		"three differ":              {[]mark{less, more, less}, settled(40)},
		"two":                       {[]mark{less, more}, Cycle(40)},
		"one is the same":           {[]mark{less, more, same, less}, Cycle(40)},
		"soon after the one before": {[]mark{less, more, {38.5, 30}}, Cycle(40)},
		"the limit moves":           {[]mark{{35, 31}, {45, 31}, {35, 31}, {45, 31}}, Cycle(40)},
		"it moves meanwhile":        {[]mark{less, more, {20, 31}, {80, 31}, less}, settled(40)},
	} {
		t.Run(name, func(t *testing.T) {
			var p Peers
			for _, m := range c.marks {
				p.Marked(0, m.rate, 40, m.calls)
			}
			assert.InDelta(t, c.want, p.Cycle(Cycle(40), 40), 1e-9)
		})
	}
	p := Peers{signs: peersMost}
	assert.InDelta(t, 3*settled(40), p.Cycle(3*settled(40), 40), 1e-9, "it is longer while marks agree")
	for range 4 {
		p.Marked(0, 40, 40, 31)
	}
	assert.InDelta(t, Cycle(40), p.Cycle(Cycle(40), 40), 1e-9)
}

func TestWhatExplainsMarksOfAFastRateThatDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*Machine)
		active  float64 // seconds since the mark before; 0: a cycle
		others  bool
	}{
		"others":                {func(*Machine) {}, 0, true},
		"others, beside tokens": {func(m *Machine) { m.Tokens.On = true }, 0, true},
		"a window":              {func(m *Machine) { m.spans.Window = 60 }, 0, false},
		"a pause in demand":     {func(m *Machine) { m.Calls.rested = true }, 0, false},
		"a limit that rises":    {func(m *Machine) { m.Calls.fast = 40 }, 0, false},
		"its own share":         {func(m *Machine) { m.calm.share = 0.5 }, 0, false},
		"random rejections":     {func(*Machine) {}, 0.1, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{CallRate: 40})
			c.prepare(r.Machine)
			r.Calls.active = cmp.Or(c.active, r.Calls.cycle)
			for i := range int64(enough) {
				r.tally.mark.Seq = 100 * i
				r.weighPeers(1, Call{Seq: 100*i + 100}, 38.5)
			}
			assert.Equal(t, c.others, r.peers.Found())
			assert.Equal(t, c.others, r.reasons(WhyBeside) == 1)
		})
	}
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
				assert.InDelta(t, peersCalls/r.Calls.Rate, r.Calls.cycle, 1e-9)
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
