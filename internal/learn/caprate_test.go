package learn

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// playCap sends as much as the machine allows to a provider that takes 20 calls at
// once, each for half a second to one and a half, and silently rejects three in five of the others while it fails.
// It returns the calls that were taken.
func (r *machineRun) playCap(from, to float64, fails func(now float64) bool) (taken int) {
	type call struct {
		Call
		ok   bool
		ends float64
	}
	var out []call
	for now := from; now < to; now += 0.02 {
		held := 0
		for i := 0; i < len(out); i++ {
			switch c := out[i]; {
			case now < c.ends:
				if c.ok {
					held++
				}
				continue
			case c.ok:
				taken++
				r.Answered(now, c.Call, Answer{Used: 100, InFlight: len(out) - 1})
			default:
				r.Refused(now, c.Call, Refusal{})
			}
			out = slices.Delete(out, i, i+1)
			i--
		}
		for n := len(out); r.Wait(now, 100, n) == 0; n++ {
			c := call{Call: Call{Seq: r.last.Seq + 1, At: now, Others: n, Tokens: 100, Total: r.last.Total + 100}, ends: now + 0.1}
			r.last = c.Call
			r.Sent(c.Call)
			if c.ok = held < places && (!fails(now) || c.Seq%5 >= 3); c.ok {
				c.ends = now + 0.5 + float64(c.Seq*7%11)/10
				held++
			}
			out = append(out, c)
		}
	}
	return taken
}

const places = 20 // of the provider of playCap

func never(float64) bool { return false }

func TestACapThatErrorsRefutedIsTriedAgain(t *testing.T) {
	r := runMachine(Config{Initial: 4, Max: 200})
	r.playCap(0, 120, never)
	assert.InDelta(t, 20, r.capRate.calls, 1)
	r.playCap(120, 150, func(float64) bool { return true })
	assert.False(t, r.Flight.Claimed, "a rate, it seems")
	assert.Less(t, r.Calls.Rate, 14.)
	r.playCap(150, 180, never)
	assert.True(t, r.Flight.Claimed)
	assert.InDelta(t, 20*60, r.playCap(180, 240, never), 60)
}

func TestACapThatGaveWayToARateIsForgotten(t *testing.T) {
	r := runMachine(Config{Initial: 4, Max: 200})
	r.capRate = CapRate{level: 20, calls: 20}
	r.Calls.Expect(10, 20, true)
	r.Calls.Rate = 19
	r.compareWithCap(100, heldFor)
	assert.Zero(t, r.capRate)
}

func TestWhatHeldUnderACap(t *testing.T) {
	long := func(calls float64) Rate { return Rate{Calls: calls, Span: heldFor} }
	for _, c := range []struct {
		name string
		now  float64
		rate Rate
		want CapRate
	}{
		{"not for long", 0, Rate{Calls: 30, Span: heldFor - 1}, CapRate{level: 20, calls: 20}},
		{"more", 0, long(30), CapRate{level: 7, calls: 30}},
		{"a little less", 0, long(15), CapRate{level: 7, calls: 15}},
		{"much less", 100, long(10), CapRate{level: 20, calls: 20, fell: true, until: 100 + remembered}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := CapRate{level: 20, calls: 20}
			u.Held(c.now, 7, c.rate)
			assert.Equal(t, c.want, u)
		})
	}
	u := CapRate{level: 20, calls: 20}
	u.Held(0, 7, long(10))
	u.Held(remembered-1, 7, long(11))
	assert.True(t, u.fell)
	u.Held(remembered, 7, long(12))
	assert.Equal(t, CapRate{level: 7, calls: 12}, u, "it has been tried again for long enough")
}

func TestARejectedTrialOfACapGoesBackToTheRate(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.Calls.Expect(5, 20, true)
	r.Tokens.Expect(300, 20, true)
	r.capRate = CapRate{level: 20, calls: 20, tokens: 2000}
	r.levels.Fell(0, 20)
	r.Flight.Follow(20, 40)
	r.beginTrials(2)
	assert.True(t, r.Flight.Claimed)
	assert.Equal(t, 20, r.InFlight(), "not more than the cap while it is tried")
	assert.Greater(t, r.Calls.Pace(), 20.)
	assert.Greater(t, r.Tokens.Pace(), 2000.)
	c := r.send(3)
	assert.True(t, r.failTrials(3.1, c))
	assert.False(t, r.Flight.Claimed)
	assert.InDelta(t, 5, r.Calls.Rate, 0)
	assert.InDelta(t, 300, r.Tokens.Rate, 0)
	assert.Equal(t, 40, r.InFlight())
}

func TestOneTrialAtATimeSetsThePace(t *testing.T) {
	for _, c := range []struct {
		name        string
		rate, level float64 // when they fell
	}{
		{"the rate is tried first", 0, 40},
		{"the cap is tried first", 20, 0},
		{"both are due", 10, 38},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runMachine(Config{Initial: 30, Max: 200})
			r.Calls.Expect(5, 20, true)
			r.capRate = CapRate{level: 20, calls: 20}
			r.Flight.Follow(20, 40)
			r.rates.Fell(c.rate, 18)
			r.levels.Fell(c.level, 20)
			for _, now := range []float64{10, 30, 40, 45} {
				r.beginTrials(now)
			}
			first := r.send(50)
			r.beginTrials(60)
			assert.True(t, r.failTrials(61, first))
			r.failTrials(62, r.send(61))
			assert.False(t, r.Flight.Claimed)
			assert.InDelta(t, 5, r.Calls.Rate, 0)
		})
	}
}

func TestATrialOfACapThatHadTooFewCallsIsOverForTheRate(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.Calls.Expect(5, 20, true)
	r.capRate = CapRate{level: 20, calls: 20}
	r.levels.Fell(0, 20)
	r.beginTrials(2)
	r.rates.Fell(2000, 18)
	r.beginTrials(2030)
	assert.InDelta(t, 18, r.Calls.Rate, 0)
}

func TestAPaceOfTokensThatATrialBringsIsKept(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.Calls.Expect(5, 20, true)
	r.capRate = CapRate{level: 20, calls: 20, tokens: 2000}
	r.tryCap(0)
	r.Tokens.Expect(300, 20, true)
	r.endCapTrial()
	assert.InDelta(t, 300, r.Tokens.Rate, 0)
}

func TestATrialDoesNotLowerThePaceOfTokens(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.Calls.Expect(5, 20, true)
	r.Tokens.Expect(5000, 20, true)
	r.capRate = CapRate{level: 20, calls: 20, tokens: 2000}
	r.tryCap(0)
	assert.InDelta(t, 5000, r.Tokens.Rate, 0)
}

func TestMuchLessThanUnderTheCapIsAFall(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.capRate = CapRate{level: 20, calls: 20}
	r.Calls.Expect(14, 20, true)
	r.compareWithCap(100, 0)
	assert.False(t, r.levels.Due(1000), "seven tenths are no fall")
	r.Calls.Expect(13.9, 20, true)
	r.compareWithCap(100, 0)
	assert.True(t, r.levels.Due(102))
}

func TestACapThatIsRejectedForAQuarterOfAnHourIsForgotten(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.capRate = CapRate{level: 20, calls: 20}
	r.Calls.Expect(5, 20, true)
	for _, now := range []float64{100, 500, 99 + remembered} {
		r.compareWithCap(now, 0)
	}
	assert.True(t, r.levels.Due(99+remembered))
	r.compareWithCap(100+remembered, 0)
	r.compareWithCap(200+remembered, 0)
	assert.Zero(t, r.capRate)
	assert.False(t, r.levels.Due(300+remembered), "or a limit that stays low would be tried for ever")
}

func TestACapMuchLowerThanBeforeIsAFall(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.capRate = CapRate{level: 20, calls: 20, fell: true}
	r.Flight.Cap(6, 1)
	r.cutFlight(100, Call{Seq: 1, At: 100, Others: 6}, false)
	assert.True(t, r.levels.Due(102))
	assert.InDelta(t, 20, r.levels.Begin(0, 1, 6), 0)
}

func TestTheTrialOfACapWeighsItAnew(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.Calls.Expect(5, 20, true)
	r.capRate = CapRate{level: 20, calls: 20}
	r.claim.Begin(Call{Others: 9}, 0)
	r.claim.Sent(Call{Seq: 1})
	r.tryCap(0)
	assert.Zero(t, r.claim.sent)
	assert.InDelta(t, 20, r.claim.level, 0)
}

func TestTheTrialOfALevelUnderACapLeavesThePace(t *testing.T) {
	r := runMachine(Config{Initial: 30, Max: 200})
	r.Calls.Expect(5, 20, true)
	r.Flight.Cap(6, 1)
	r.Flight.Claimed = true
	r.capRate = CapRate{level: 20, calls: 20}
	r.tryCap(0)
	assert.InDelta(t, 5, r.Calls.Rate, 0)
	r.endCapTrial()
	assert.True(t, r.Flight.Claimed)
}

func TestWhenACapIsForgotten(t *testing.T) {
	for _, c := range []struct {
		rate, span float64
		want       bool
	}{{9.5, 30, true}, {9.5, 5, false}, {8, 30, false}} {
		r := runMachine(Config{CallRate: c.rate})
		r.capRate.calls = 10
		r.compareWithCap(100, c.span)
		assert.Equal(t, c.want, r.capRate.calls == 0, "%v", c)
	}
}
