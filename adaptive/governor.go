package adaptive

import (
	"time"

	"github.com/headrace/headrace/throttle"
)

// governor lets Reset exchange the state in place, under the throttle's lock,
// and keeps the gate of the state that was there before.
type governor struct {
	State
	throttle *throttle.Limiter
	gate     reopening
	holds    bool  // the gate held back the caller who was asked about last
	told     int64 // decisions of the state that observers have heard of
}

// replace puts state in the place of the one so far.
func (g *governor) replace(state State) {
	g.gate = reopening{at: g.View().GateUntil, guess: longestGuess}
	g.State, g.told = state, 0
}

// Admit implements throttle.Governor.
func (g *governor) Admit(now time.Time, c throttle.Cost, inFlight int) time.Duration {
	wait := max(g.gate.shut(now), g.gate.pace(now))
	if g.holds = wait > 0; g.holds {
		return wait
	}
	return g.State.Admit(now, c, inFlight)
}

// OnSend implements throttle.Governor.
func (g *governor) OnSend(now time.Time, s throttle.Sent) {
	if g.gate.opening(now) {
		g.gate.sent(now, float64(max(1, g.State.View().Concurrency)))
	}
	g.State.OnSend(now, s)
}

// OnUnsent implements throttle.Governor.
func (g *governor) OnUnsent(now time.Time, s throttle.Sent) {
	g.OnResult(now, s, g.throttle.InFlightLocked(), Feedback{Verdict: Unsent})
}

// View implements State.
func (g *governor) View() View {
	v := g.State.View()
	if g.gate.at.After(v.GateUntil) {
		v.GateUntil = g.gate.at
	}
	if g.holds {
		v.Bound = boundGate
	}
	return v
}
