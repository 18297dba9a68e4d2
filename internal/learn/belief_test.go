package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// fell is a machine with a rate of 10 that has held, and that is 5 since a refusal at 2.1.
func fell() *machineRun {
	r := cutOnce(Config{CallRate: 10}, Refusal{Names: CallLimit, Asked: 1})
	r.Calls.Set(5, 20)
	r.rates.Marked(0, 10, true)
	r.rates.Marked(2.1, 5, false)
	return r
}

// until asks twice a second whether a call may go, and sends those that may.
func (r *machineRun) until(from, to float64) (sent []Call) {
	for at := from; at < to; at += 0.5 {
		if r.Wait(at, 100, 0) == 0 {
			sent = append(sent, r.send(at))
		}
	}
	return sent
}

func TestTheRateBeforeAFallIsTriedAndHolds(t *testing.T) {
	r := fell()
	r.until(3, 32)
	assert.Less(t, r.Calls.Rate, 6.0)
	calls := r.until(32, 60)
	assert.InDelta(t, 10, r.Calls.Rate, 1e-9)
	assert.Contains(t, r.decided, Decision{At: 32.5, Kind: Probe, Of: OfCalls, From: r.decided[len(r.decided)-1].From, To: 9.7, Why: WhyBefore})
	for _, c := range calls {
		r.Answered(c.At+0.1, c, Answer{Used: 100})
	}
	assert.False(t, r.rates.Tries(r.send(70)), "the trial is over")
}

func TestAFallSoonAfterATrialThatHeldIsTriedAsSoonAsTheFirst(t *testing.T) {
	r := fell()
	for _, c := range r.until(3, 55) {
		r.Answered(c.At+0.1, c, Answer{Used: 100})
	}
	assert.Positive(t, r.rates.succeeded)
	r.rates.Marked(56, 5, false)
	assert.False(t, r.rates.Due(56+againFirst-0.1))
	assert.True(t, r.rates.Due(56+againFirst))
}

func TestARefusalEndsTheTrialOfARate(t *testing.T) {
	r := fell()
	r.until(3, 33)
	assert.InDelta(t, 10, r.Calls.Rate, 1e-9)
	r.noise.unexplained, r.Door.rtt = convinced, 1
	r.Refused(33.5, r.send(33.4), Refusal{Names: CallLimit})
	assert.InDelta(t, 5, r.Calls.Rate, 1e-9, "and it measures nothing")
	assert.Equal(t, WhyNotYet, r.decided[len(r.decided)-1].Why)
	assert.Zero(t, r.noise.unexplained, "a limit that has fallen explains the refusals before")
	assert.InDelta(t, 2*againFirst, r.rates.pause, 1e-9, "ten calls a second leave until the rejection is received, so that no trial is cheap")
}

func TestTheCallsInFlightBeforeAnOverloadAreTriedCallByCall(t *testing.T) {
	r := runMachine(Config{Initial: 50, Max: 100})
	for at := 1.0; at < 10; at += 0.25 {
		r.Refused(at+0.1, inUse(r.send(at))[0], Refusal{Mild: true})
	}
	low := r.InFlight()
	assert.Less(t, low, 40)
	r.Wait(60, 100, 0)
	r.Answered(60, r.send(59), Answer{Used: 100}) // the door is open
	r.Wait(60.1, 100, 0)
	assert.Equal(t, low+1, r.InFlight())
	for at := 61.0; at < 90; at++ {
		r.Answered(at+0.1, r.send(at), Answer{Used: 100, InFlight: 60})
	}
	assert.Equal(t, 50, r.InFlight())
}

func TestTimeBehindAShutDoorMeasuresNoRate(t *testing.T) {
	for name, c := range map[string]struct {
		dark, want float64
	}{
		"the rate may have held":     {40, 10},
		"it cannot have":             {10, 6},
		"the door was open all time": {0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{CallRate: 10})
			r.calm.Settled, r.tally.dark = 10, c.dark
			assert.InDelta(t, c.want, r.correctDark(Rate{Calls: 5, Span: 60}).Calls, 1e-9)
		})
	}
	t.Run("any rate, if it was shut for most of it", func(t *testing.T) {
		r := runMachine(Config{CallRate: 10})
		r.tally.dark = 50
		assert.InDelta(t, 10, r.correctDark(Rate{Calls: 2, Span: 60}).Calls, 1e-9)
		r.tally.dark = 29
		assert.InDelta(t, 2, r.correctDark(Rate{Calls: 2, Span: 60}).Calls, 1e-9)
	})
	t.Run("it is counted while nothing gets through", func(t *testing.T) {
		r := cutOnce(Config{CallRate: 10}, Refusal{Names: CallLimit, Asked: 1})
		r.Wait(4, 100, 0)
		assert.Zero(t, r.tally.dark)
		for at := 4.0; at < 10; at += 2 {
			r.Refused(at+0.1, r.send(at), Refusal{Names: CallLimit, Asked: 1})
		}
		r.Wait(20, 100, 0)
		assert.Greater(t, r.tally.dark, 10.0)
	})
}

func TestAWindowIsForgottenWhenMoreIsTakenForLonger(t *testing.T) {
	r := runMachine(Config{CallRate: 10})
	r.spans.Window = 60
	r.Calls.SetSpan(60)
	r.due = 300
	for at := 0.0; at < 300; at++ {
		r.Calls.Binding = true
		r.tick(at, false)
	}
	assert.Zero(t, r.spans.Window)
	assert.Zero(t, r.Calls.span)
}

func TestHeadersThatAreIgnoredHoldNothingBack(t *testing.T) {
	r := runMachine(Config{})
	none := Told{Known: true, Limit: 100, Reset: 60}
	r.Heard(1, r.send(0.9), none, Told{})
	r.Wait(1, 100, 0)
	assert.Equal(t, ByHeaders, r.Bound())
	r.trust.until = 100
	r.Wait(1.1, 100, 0)
	assert.NotEqual(t, ByHeaders, r.Bound())
}

func TestACapThatFellIsTriedAgainButOneThatOthersShareIsNot(t *testing.T) {
	for name, shared := range map[string]bool{"alone": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{Initial: 20, Max: 100})
			r.Flight.Claimed = true
			r.claim.shared = shared
			r.cutFlight(1, Call{Seq: 1, At: 1, Others: 10}, false)
			assert.Equal(t, !shared, r.levels.Due(3))
		})
	}
}

func TestATrialOfAMachineThatHasSentNothingRisesOnce(t *testing.T) {
	r := runMachine(Config{Initial: 100, Max: 1000})
	for i := range 40 {
		r.Refused(float64(i), Call{At: float64(i) - 0.1, Others: 20}, Refusal{Names: FlightLimit})
	}
	low := r.InFlight()
	for at := 50.0; at < 250; at += 0.5 {
		r.Wait(at, 100, 500)
	}
	assert.LessOrEqual(t, r.InFlight(), low+1, "no call was answered")
	assert.LessOrEqual(t, r.count(Probe), 1)
}

func TestASignalEndsATrialForGood(t *testing.T) {
	r := runMachine(Config{Initial: 40, Max: 100})
	r.levels.Fell(0, 40)
	r.Flight.hold(10)
	r.Wait(3, 100, 0)
	assert.Equal(t, 11, r.InFlight())
	c := r.send(3)
	r.Signal(3.1, 3)
	low := r.InFlight()
	assert.LessOrEqual(t, low, 5)
	r.Refused(3.2, c, Refusal{Mild: true})
	assert.LessOrEqual(t, r.InFlight(), low, "a refusal raises nothing")
}

func TestARefusalThatNamesTheCallsInFlightBreaksNoTrust(t *testing.T) {
	for name, c := range map[string]struct {
		names   Limit
		ignored bool
	}{"the calls in flight": {FlightLimit, false}, "nothing": {Unnamed, true}} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{})
			left := Told{Known: true, Limit: 100, Remaining: 50, Reset: 10}
			for at := 1.0; at < 60; at += 2 {
				r.Answered(at+0.1, r.send(at), Answer{Used: 100, Calls: left})
				r.Refused(at+1.1, r.send(at+1), Refusal{Names: c.names, Calls: left})
			}
			assert.Equal(t, c.ignored, r.trust.Ignored(60))
		})
	}
}

func TestARestoredRateOfTokensHasAnOrdinaryCycle(t *testing.T) {
	m := New(Config{Initial: 1, Max: 10, Saved: Saved{Tokens: 1000}})
	assert.InDelta(t, Cycle(1), m.Tokens.cycle, 0)
}
