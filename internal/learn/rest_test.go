package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sparse sends a call a minute, which is answered within a second, and then one that is asked about at the moment at.
func sparse(r *machineRun, calls int) (at float64) {
	for range calls {
		r.Wait(at, 100, 0)
		r.Answered(at+1, r.send(at), Answer{Used: 100})
		r.Slack(at + 1)
		at += 60
	}
	r.Wait(at, 100, 0)
	return at
}

func TestTheFirstRateIsNotMeasuredOverAPauseInDemand(t *testing.T) {
	r := runMachine(Config{})
	at := sparse(r, 8)
	for range 4 {
		r.send(at)
	}
	r.Refused(at+1, r.send(at+1), Refusal{Asked: 1})
	assert.InEpsilon(t, (4+1.)/interruption, r.Calls.Rate, 1e-9)
	assert.InEpsilon(t, 5*100./interruption, r.Tokens.Rate, 1e-9)
}

// Such a rate is hardly more than a guess. A limit that is far lower is found with the next mark, and not in steps.
func TestTheFirstRateAfterAPauseInDemandFallsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		between int // calls from the first mark to the second
		want    float64
	}{
		"a handful":    {3, (3 + 1) / 60.}, // and a token of doubt
		"more of them": {12, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{})
			at := sparse(r, 3)
			r.Refused(at+0.1, r.send(at), Refusal{Asked: 1})
			require.InEpsilon(t, 1, r.Calls.Rate, 1e-9)
			for i := range c.between {
				r.Wait(at+float64(3*i+5), 100, 0)
				r.Answered(at+float64(3*i+6), r.send(at+float64(3*i+5)), Answer{Used: 100})
				r.Slack(at + float64(3*i+6))
			}
			r.Wait(at+60, 100, 0)
			r.Refused(at+60.1, r.send(at+60), Refusal{Asked: 1})
			assert.InEpsilon(t, c.want, r.Calls.Rate, 0.1)
		})
	}
}

func TestAPauseInDemandAfterARateIsKnownMeasuresNothingAnew(t *testing.T) {
	r := runMachine(Config{CallRate: 10})
	start := r.tally.start
	sparse(r, 8)
	assert.InDelta(t, start, r.tally.start, 0)
}

func TestCallsBeforeThereWasAMachineThatCameOneByOne(t *testing.T) {
	for name, c := range map[string]struct {
		numbers     int64 // of calls from one moment to the next
		apart, rate float64
	}{
		"one by one":                   {1, 61, 2. / interruption},
		"three together":               {3, 61, 3. / interruption},
		"calls that may take a minute": {1, 60, 9 / 480.},
		"moments that are wide apart":  {100, 13, 100 / 13.},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{})
			for i := range int64(9) {
				r.last = Call{Seq: 1 + c.numbers*i, At: c.apart * float64(i), Tokens: 100, Total: float64(100 * (1 + c.numbers*i))}
				r.Before(r.last)
			}
			r.Refused(r.last.At+0.1, r.last, Refusal{Asked: 1})
			assert.InEpsilon(t, c.rate, r.Calls.Rate, 0.15)
		})
	}
}

// Two calls got through, the provider asks to wait for four seconds, and the next call comes an hour later, or waits.
func TestTheFirstMarkOfAFewCallsIsNotMeasuredOverTimeInWhichNoCallWaited(t *testing.T) {
	for name, c := range map[string]struct {
		slack bool
		want  float64
	}{
		"it has waited":   {false, (2 + 1 + 1) / 3604.},
		"it did not wait": {true, (2 + 1 + 1) / 4.},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{})
			r.send(0)
			r.send(0)
			for _, call := range []Call{r.send(0), r.send(0)} {
				r.Refused(0, call, Refusal{Asked: 4})
			}
			r.Door.Until = 4
			if c.slack {
				r.Slack(1)
			}
			r.Wait(3604, 100, 0)
			r.send(3604)
			assert.InEpsilon(t, c.want, r.Calls.Rate, 1e-9)
		})
	}
}

func TestAClosureWhoseEndNoCallAwaitedIsNoWindow(t *testing.T) {
	for name, c := range map[string]struct {
		slack float64 // when no call waits any more
		want  float64
	}{
		"a call waits":           {0, 70},
		"until the pause ends":   {40, 70},
		"until nearly its end":   {68.5, 70},
		"not after it has ended": {60, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{CallRate: 10})
			for _, call := range r.sendMany(30) {
				r.Answered(call.At, call, Answer{Used: 100})
			}
			r.Refused(30.1, r.send(30.1), Refusal{Asked: 30})
			r.Door.Until = 60
			if name == "until the pause ends" {
				r.Door.Until = 69
			}
			if c.slack > 0 {
				r.Slack(c.slack)
			}
			r.Wait(70.1, 100, 0)
			r.Answered(71, r.send(70.1), Answer{Used: 100})
			assert.InDelta(t, c.want, r.spans.Window, 0.1)
		})
	}
}

func TestSpansBeginAnewAfterAnEndThatWasMissed(t *testing.T) {
	var s Spans
	s.Sent(10)
	s.Rest(20) // it is open
	s.Shut(30)
	s.Rest(60)
	s.Shut(59) // the refusal of a call that left before
	assert.Zero(t, s.Opened(70, 120, 6, 0, true))
	assert.Zero(t, s.Window)
	s.Shut(100)
	assert.InDelta(t, (80+2)/50.0, s.Opened(120, 200, 8, 0, true), 1e-9, "since the opening that was seen")
	assert.InDelta(t, 50, s.Window, 1e-9)
}

func TestSpansEndWhenACallAwaitsThat(t *testing.T) {
	var s Spans
	s.Sent(10)
	s.Shut(30)
	s.Rest(40)
	s.Shut(40) // calls wait again from then on
	s.Shut(60)
	assert.InDelta(t, (120+6)/60.0, s.Opened(70, 120, 6, 0, true), 1e-9)
	assert.InDelta(t, 60, s.Window, 1e-9)
}

// A call that takes long has found the provider open before another one comes.
func TestACallOnItsWayFindsTheEndOfAClosure(t *testing.T) {
	r := runMachine(Config{CallRate: 10})
	for _, call := range r.sendMany(30) {
		r.Answered(call.At, call, Answer{Used: 100})
	}
	r.Refused(30.1, r.send(30.1), Refusal{Asked: 30})
	r.Door.Until = 60
	r.Wait(60.1, 100, 0)
	long := r.send(60.1)
	r.Slack(60.1)
	r.Wait(65, 100, 1)
	r.Answered(70, long, Answer{Used: 100})
	assert.InDelta(t, 60, r.spans.Window, 0.1)
}

func TestACallThatFindsTheKeyClosedIsNotOnItsWay(t *testing.T) {
	for name, c := range map[string]struct {
		closed bool
		want   float64
	}{
		"it may have been admitted": {false, 70},
		"it was not":                {true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{CallRate: 10})
			for _, call := range r.sendMany(30) {
				r.Answered(call.At, call, Answer{Used: 100})
			}
			r.Refused(30.1, r.send(30.1), Refusal{Asked: 30})
			r.Door.Until = 60
			r.Wait(60.1, 100, 0)
			if call := r.send(60.1); c.closed {
				r.Closed(60.2, call, false)
			}
			r.Slack(60.3)
			r.Wait(70.1, 100, 1)
			r.Answered(71, r.send(70.1), Answer{Used: 100})
			assert.InDelta(t, c.want, r.spans.Window, 0.1)
		})
	}
}

// While a cap is claimed, the pace is above the rate, which then rejects at any number of calls in flight.
func TestARateExplainsWhatNoCapDoes(t *testing.T) {
	for name, c := range map[string]struct {
		rate   float64
		random bool
	}{
		"none was known":        {0, true},
		"as much is admitted":   {10, false},
		"a little more":         {8.5, false},
		"far less is admitted":  {20, true},
		"far more is admitted":  {5, true},
		"a little less, for us": {10.3, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{CallRate: 10})
			r.Flight.Claimed, r.marked = true, true
			r.claim.Begin(Call{Others: 5}, 0)
			for _, call := range r.sendMany(30) {
				r.Answered(call.At+0.1, call, Answer{Used: 100})
			}
			r.claim.rate, r.hits = c.rate, 1
			assert.Equal(t, c.random, r.claimWasRandom(30.2, r.send(30.1)))
		})
	}
}

func TestAClaimKnowsTheRateThatMeasurementsAgreedAbout(t *testing.T) {
	for name, agreed := range map[string]int{"they do": enough, "they do not": 0} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{CallRate: 10})
			r.calm.agreed = agreed
			r.claimCap(5, Call{At: 4, Others: 5})
			assert.InDelta(t, 4, r.claim.at, 0)
			assert.Equal(t, agreed > 0, r.claim.rate > 0)
		})
	}
}

// Fewer calls would not have helped. Where the bound is larger, the first one of a burst has few others in flight, too.
func TestAnOverloadLowersASmallBoundOnlyIfItIsInUse(t *testing.T) {
	for _, c := range []struct{ bound, others, want int }{
		{4, 0, 4}, {4, 1, 4}, {4, 2, 2}, {4, 3, 2}, {1, 0, 1}, {5, 0, 4}, {50, 0, 40},
	} {
		r := runMachine(Config{Initial: float64(c.bound), Max: 100})
		var call Call
		for at := range 3 {
			call = r.send(float64(at))
			call.Others = c.others
			r.Refused(float64(at)+0.1, call, Refusal{Mild: true})
		}
		require.False(t, r.overload.Rare())
		assert.Equal(t, c.want, r.InFlight(), "%d others of %d in flight", c.others, c.bound)
	}
}
