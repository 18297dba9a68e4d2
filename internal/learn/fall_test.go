package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// play sends as much as the machine allows from one moment to the next, to a provider
// with a bucket of ten calls that refills at rate. Each answer takes a tenth of a second,
// and tells of the bucket that is shown, if there is one.
func (r *machineRun) play(from, to float64, rate func(now float64) float64, refusal Refusal) {
	const step, trip = 0.02, 0.1
	type answer struct {
		Call
		ok   bool
		told Told
	}
	var out []answer
	bucket := 10.0
	for now := from; now < to; now += step {
		bucket = min(10, bucket+step*rate(now))
		r.shown.refill(step)
		for len(out) > 0 && now >= out[0].At+trip {
			if c := out[0]; c.ok {
				r.Answered(now, c.Call, Answer{Used: 100, InFlight: len(out), Calls: c.told})
			} else {
				refusal.Calls = c.told
				r.Refused(now, c.Call, refusal)
			}
			out = out[1:]
		}
		for r.Wait(now, 100, len(out)) == 0 && len(out) < r.InFlight() {
			c := r.send(now)
			c.Others = len(out)
			ok := bucket >= 1
			if ok {
				bucket--
				r.shown.take()
			}
			out = append(out, answer{c, ok, r.shown.tell()})
		}
	}
}

func (r *machineRun) reasons(why Why) (n int) {
	for i := range r.decided {
		if r.decided[i].Why == why {
			n++
		}
	}
	return n
}

func TestARateThatFellForAMinuteIsTriedAgainSoon(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	rate := func(now float64) float64 {
		if now >= 900 && now < 960 {
			return 2
		}
		return 10
	}
	r.play(0, 900, rate, Refusal{Names: CallLimit, Asked: 1})
	assert.InDelta(t, 10, r.Calls.Rate, 0.5)
	assert.Zero(t, r.reasons(WhyBefore), "nothing has fallen yet")
	r.play(900, 960, rate, Refusal{Names: CallLimit, Asked: 1})
	assert.Less(t, r.Calls.Rate, 5.0)
	r.play(960, 1020, rate, Refusal{Names: CallLimit, Asked: 1})
	assert.Positive(t, r.reasons(WhyBefore))
	assert.InDelta(t, 10, r.Calls.Rate, 0.5)
}

// Both the time without growth and that of trials are 15 minutes.
func TestWhatHeldIsTriedAfterATimeWithoutGrowth(t *testing.T) {
	r := runMachine(Config{CallRate: 10})
	r.rates.Marked(0, 10, true)
	r.rates.Marked(9, 2, false)
	r.Wait(9, 100, 5)
	r.Refused(9, r.send(8), Refusal{Asked: 1, Slow: true})
	r.Refused(9, r.last, Refusal{Asked: 1, Slow: true})
	assert.Equal(t, 1, r.reasons(WhySlow))
	for now := 10.0; now < 9+SlowFor; now++ {
		r.Wait(now, 100, 5)
		assert.False(t, r.rates.trying, "at %v", now)
	}
	r.Wait(9+SlowFor+againFirst, 100, 5)
	assert.Equal(t, 1, r.reasons(WhyGrows))
	assert.True(t, r.rates.trying)
}

func TestAServiceThatStaysFullIsProbedByOneCall(t *testing.T) {
	d := newDoor(0)
	for n := 1; n <= 3; n++ {
		assert.Equal(t, n > 2, d.Stuck(), "no growth after %d", n-1)
		assert.False(t, d.Sent(float64(n)))
		d.Overloaded(float64(n), float64(n), 0, 0, 0, 0, true)
	}
	for _, now := range []float64{4, 5} {
		assert.True(t, d.Sent(now), "the first call is the probe")
		assert.False(t, d.Sent(now))
		wait, _ := d.Probing(now)
		assert.Positive(t, wait, "all others wait")
		d.Overloaded(now+0.1, now, 0, 0, 0, 0, true)
		wait, _ = d.Probing(now + 0.1)
		assert.Zero(t, wait, "the probe was refused")
	}
	d.Opened(6)
	assert.False(t, d.Stuck())
	assert.False(t, d.Sent(6))
}

func TestARetryAfterIsMultipliedByEightAtMost(t *testing.T) {
	var tr Truth
	for i := range 20 {
		now := float64(i) * 1e6
		tr.Shut(now, 10, 0, 0.1)
		tr.Again(10)
		tr.Opened(now + 1e5)
		tr.Testing = false
	}
	assert.InDelta(t, longestLie, tr.mul(), 0.1)
}

// What is ignored says neither that a refusal is foreign nor what is left.
func TestHeadersThatAreIgnoredExplainNoRefusal(t *testing.T) {
	left := Told{Known: true, Limit: 100, Remaining: 50, Reset: 10}
	for name, c := range map[string]struct {
		until float64
		cuts  int
	}{"ignored": {100, 1}, "believed": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{})
			calls := r.sendMany(2)
			r.trust.until = c.until
			for _, call := range calls[:19] {
				r.Answered(call.At+0.1, call, Answer{Used: 100, InFlight: 5, Calls: left})
			}
			r.Wait(2.1, 100, 5)
			r.Refused(2.1, r.last, Refusal{Calls: left})
			assert.Equal(t, c.cuts, r.count(Cut))
		})
	}
}

func TestAnOverloadBreaksNoTrust(t *testing.T) {
	r := runMachine(Config{})
	left := Told{Known: true, Limit: 100, Remaining: 50, Reset: 10}
	for at := 1.0; at < 60; at += 2 {
		r.Answered(at+0.1, r.send(at), Answer{Used: 100, Calls: left})
		r.Refused(at+1.1, r.send(at+1), Refusal{Mild: true, Calls: left})
	}
	assert.False(t, r.trust.Ignored(60))
}

func TestAnOverloadEndsATrialOfCallsInFlight(t *testing.T) {
	r := runMachine(Config{Initial: 40, Max: 100})
	r.levels.Fell(0, 40)
	r.Flight.hold(10)
	for at := 0.5; at < 3; at += 0.5 { // such refusals are no exception
		r.overload.Refused()
	}
	r.Wait(3, 100, 0)
	r.Refused(3.1, r.send(3), Refusal{Mild: true})
	assert.Equal(t, 10, r.InFlight(), "what held before the trial, and no cut of it")
	assert.Equal(t, WhyNotYet, r.decided[len(r.decided)-1].Why)
}

func TestACapThatOthersShareIsTriedAgainAfterADeepFall(t *testing.T) {
	for name, c := range map[string]struct {
		high float64
		due  bool
	}{"to a half": {20, false}, "to a tenth": {100, true}} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{Initial: 20, Max: 100})
			r.Flight.Claimed, r.claim.shared, r.levels.held = true, true, c.high
			r.cutFlight(1, Call{Seq: 1, At: 1, Others: 10}, false)
			assert.Equal(t, c.due, r.levels.Due(3))
		})
	}
}

// A later refusal of a call of the trial does not bring the rate back that was before the window was found.
func TestAWindowThatIsFoundEndsATrial(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 58})
	r.Wait(60.1, 100, 0)
	r.send(60.1)
	r.rates.Fell(60.1, 50)
	r.Calls.Set(r.rates.Begin(0, r.last.Seq, r.Calls.Rate), 60)
	for i := range 8 {
		r.send(60.1 + float64(i+1)/100)
	}
	r.Answered(62, Call{Seq: 21, At: 60.1}, Answer{Used: 100})
	assert.InDelta(t, 60, r.spans.Window, 0.2)
	assert.False(t, r.rates.trying)
}

// The pace of calls may have been far above what was admitted, where the pace of tokens held calls back.
func TestAWindowLeavesThePaceOfTokensWhatItsCallsUse(t *testing.T) {
	r := cutOnce(Config{}, Refusal{Asked: 58})
	r.Wait(60.1, 100, 0)
	r.send(60.1)
	r.Calls.Set(50*r.Calls.Rate, 60)
	for i := range 8 {
		r.send(60.1 + float64(i+1)/100)
	}
	r.Answered(62, Call{Seq: 21, At: 60.1}, Answer{Used: 100})
	assert.InDelta(t, 60, r.spans.Window, 0.2)
	assert.InEpsilon(t, 100*r.Calls.Rate, r.Tokens.Rate, 0.2)
}

// Refusals of the rate say for how long; those of the outages do not.
func TestOutagesThatLookForeignAreNoWindow(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	r.play(0, 60, constant(10), Refusal{Asked: 1})
	before := r.Calls.Rate
	assert.InDelta(t, 10, before, 1)
	for i := range 4 {
		at := 60 + 60*float64(i)
		r.play(at, at+15, constant(0), Refusal{})
		r.play(at+15, at+60, constant(10), Refusal{Asked: 1})
	}
	assert.Zero(t, r.reasons(WhyWindow))
	assert.InDelta(t, 10, r.Calls.Rate, 1)
}

// A window that turns says when. An outage asks for a second, again and again.
func TestOutagesThatOutlastWhatTheyAskForAreNoWindow(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	r.play(0, 46, constant(10), Refusal{Asked: 1})
	for i := range 4 {
		at := 46 + 60*float64(i)
		r.play(at, at+16, constant(0), Refusal{Asked: 1})
		r.play(at+16, at+60, constant(10), Refusal{Asked: 1})
	}
	assert.Zero(t, r.reasons(WhyWindow))
	assert.Zero(t, r.spans.Window)
}

// The calls before it took no tokens: that is no rate of tokens.
func TestTokensThatWereNeverTakenHaveNoRate(t *testing.T) {
	r := runMachine(Config{Initial: 10, Max: 100})
	for i := range 40 {
		c := Call{Seq: int64(i + 1), At: float64(i), Others: 5}
		r.Sent(c)
		r.Answered(c.At+0.1, c, Answer{InFlight: 5})
	}
	c := Call{Seq: 41, At: 40, Others: 5, Tokens: 4096, Total: 4096}
	r.Sent(c)
	r.Refused(40.1, c, Refusal{Asked: 1})
	assert.True(t, r.Calls.On)
	assert.Less(t, r.Wait(60, 4096, 0), 60.)
}

func TestATimeWithoutGrowthDoesNotCountForACap(t *testing.T) {
	r := runMachine(Config{})
	r.slowBy, r.capRate.until = 10, 100
	r.delayTrials(4)
	assert.InDelta(t, 104, r.capRate.until, 1e-9)
}

// A trial that has expired is not what another one shows.
func TestTheTrialOfAnEarlierLevelSaysNothingOfMore(t *testing.T) {
	r := runMachine(Config{})
	r.Flight.hold(5)
	r.levels.Fell(100, 20)
	r.levels.Begin(0, 0, 5)
	r.higher.trying, r.higher.until = true, 50
	r.Flight.Return(20)
	c := r.send(110)
	c.Others = 19
	assert.True(t, r.failTrials(111, c))
	assert.Zero(t, r.claim.scatter)
}

// An outage right after the start has not shown any limit.
func TestAfterAnOutageTheSlowStartGoesOn(t *testing.T) {
	r := runMachine(Config{Initial: 4, Max: 100})
	var out []Call
	for now := 0.0; now < 60; now += 0.1 {
		for _, c := range out {
			if now < 15 {
				r.Refused(now, c, Refusal{Mild: true})
			} else {
				r.Answered(now, c, Answer{Used: 100, InFlight: len(out) - 1})
			}
		}
		out = nil
		for len(out) < r.InFlight() && r.Wait(now, 100, len(out)) == 0 {
			c := r.send(now)
			c.Others = len(out)
			out = append(out, c)
		}
	}
	assert.False(t, r.marked)
	assert.Equal(t, 100, r.InFlight())
}

// A cap that is refuted soon after another rejection has not held for long since. The few calls that errors let through measure a rate
// that is far too low.
func TestWhatARefutedCapLetThroughInTheLastMinuteIsTriedAgain(t *testing.T) {
	r := runMachine(Config{Initial: 4, Max: 200})
	r.Flight.Cap(5, 1)
	r.Flight.Claimed = true
	for i := 1; i <= 700; i++ { // ten a second
		c := r.send(float64(i) / 10)
		r.Answered(c.At+0.01, c, Answer{Used: 100, InFlight: 4})
	}
	r.beginEpoch(r.last.At)
	r.tally.Mark(r.last)
	r.claim.scatter = convinced // no cap explains the rejections
	r.Answered(72.1, r.send(72), Answer{Used: 100, InFlight: 4})
	r.Refused(75.1, r.send(75), Refusal{})
	assert.False(t, r.Flight.Claimed)
	assert.Less(t, r.Calls.Rate, 1.)
	for now := r.Door.Until; now < 200 && r.reasons(WhyBefore) == 0; now += 0.1 {
		r.Wait(now, 100, 0)
	}
	assert.InDelta(t, 55.*10/unmeasured, r.Calls.Rate, 0.1, "in five of the last sixty seconds hardly a call got through")
}
