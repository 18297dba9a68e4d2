package learn

import "math"

// Flight bounds the calls in flight. It starts slowly and doubles each round
// trip, or about each second if that is sooner, until the first refusal; then it either follows the pace, by
// Little's law, or holds a cap on concurrency that refusals have shown.
type Flight struct {
	Max     float64
	Claimed bool // a cap on concurrency is believed in
	Binding bool

	bound   float64
	mode    mode
	level   float64 // the cap, of a claim
	active  float64
	cycle   float64
	at      float64
	highs   [enough]float64 // levels refused of late, which agree if all are alike
	high    int
	origin  float64 // where it began to hover
	kept    kept    // what Back restores
	toHover bool    // it returns to where it hovered
	careful bool    // it hovered before it began to return: it grows more slowly
	part    bool    // others hover under the same cap, in the same way
	quiet   silence
}

type kept struct {
	mode         mode
	bound, level float64
}

type mode uint8

const (
	slowStart mode = iota
	steady
	climbing  // a call above every level refused of late was taken
	returning // to a level that held before, a call for each answer
	hovering  // where a small share is refused: others take from the same cap
)

// NewFlight returns a bound that starts at initial and never goes above most.
func NewFlight(initial, most float64) Flight {
	return Flight{bound: initial, Max: most}
}

// Tick brings the bound up to now.
func (f *Flight) Tick(now float64, open bool) {
	if f.Binding && open {
		f.active += now - f.at
		if f.mode == slowStart {
			f.bound = min(f.Max, f.bound+f.quiet.answers()*(now-f.at))
		}
	}
	f.at = now
}

// Bound is how many calls may be in flight. needed is what the pace takes.
func (f *Flight) Bound(needed float64) int {
	b := f.bound
	if f.mode == steady {
		hold, grow := holdsFor*f.cycle, 0.5*f.cycle
		if f.active < hold {
			b = f.bound + (f.level-f.bound)*f.active/hold
		} else {
			z := (f.active - hold) / grow
			b = f.level + max(z, probeGain*f.level*z*z*z)
		}
		if !f.Claimed {
			b = max(b, needed)
		}
	}
	if f.mode == returning && !f.Claimed {
		b = max(b, needed)
	}
	return int(max(1, min(f.Max, math.Floor(b+rounding))))
}

// Starting reports whether no refusal has ended the slow start yet.
func (f *Flight) Starting() bool { return f.mode == slowStart }

// Answered says that a call was taken that left when others were in flight;
// inFlight are still out. It reports whether that shows that a cap has risen.
func (f *Flight) Answered(others, inFlight int, needed float64) (rose bool) {
	busy := 2*(inFlight+1) >= int(f.bound) // else more would not be used
	settledBound := f.mode == steady || f.mode == hovering && !f.part
	switch {
	case settledBound && f.Binding && float64(others) >= f.above():
		rose = true
		f.bound = float64(f.Bound(needed))
		f.mode = climbing
	case busy && f.mode != steady:
		f.bound = min(f.Max, f.bound+f.gain())
		if f.mode == returning && f.bound >= f.level {
			f.hold(f.level)
		}
	}
	return rose
}

// above is how many others in flight show that a cap has risen: more than at any refusal of late, or three cuts above where a
// bound hovers.
func (f *Flight) above() float64 {
	if f.mode == hovering {
		return clearlyAbove(f.level)
	}
	top := f.level
	for _, h := range f.highs {
		top = max(top, h)
	}
	return top + 1
}

// clearlyAbove is three cuts above where a bound hovers.
func clearlyAbove(n float64) float64 { return n + cutsAbove*hoverStep(n) }

// hoverStep is what counts as a cut of a bound that hovers at n: one call at least.
func hoverStep(n float64) float64 { return max(1, hoverCut*n) }

// cutsAboveLast is how far a bound that hovers has grown since the last cut, in cuts.
func (f *Flight) cutsAboveLast() float64 { return (f.bound - f.level) / hoverStep(f.level) }

// gain is the number of calls that an answer adds to the bound. A bound that hovers grows by the same amount each round trip,
// whatever its size, so that clients that share a limit converge to equal parts. Once it has made up for the last cut without
// another one, it grows faster and faster: the cap is higher. A call for each answer would double the rate of calls, which a rate
// that is taken for a cap would reject.
func (f *Flight) gain() float64 {
	switch f.mode {
	case slowStart:
		return 1
	case returning:
		if f.careful {
			return trialGain
		}
		return 1
	case hovering:
		if f.part {
			return evenGain * max(hoverLeast, f.bound) / f.bound
		}
		return max(1, f.cutsAboveLast()) * hoverGain * max(hoverLeast, f.origin, f.bound) / f.bound
	case steady, climbing:
	}
	return 0.5
}

// Cap claims a cap of n calls. While levels agree, a call above them is tried only when a cut should have helped: a rejection
// that comes sooner speaks against the cap.
func (f *Flight) Cap(n, rtt float64) {
	n = max(1, n)
	stable := f.mode != steady || math.Abs(n-f.level) <= 1 && f.level > 0
	f.mode, f.level, f.bound = steady, n, n
	if !stable {
		f.bound = max(1, backOff*n)
	}
	f.active = 0
	f.cycle = settled(n / max(rtt, tiny))
	f.highs[f.high%len(f.highs)] = n
	f.high++
	if f.Agreed() {
		f.cycle = max(f.cycle, slowTrips*rtt)
	}
}

// Hover cuts the bound by a step, or begins to hover at n.
func (f *Flight) Hover(n float64) {
	if f.mode != hovering {
		f.mode, f.bound, f.origin = hovering, max(1, n), n
	} else {
		f.bound = max(1, (1-hoverCut)*f.bound)
	}
	f.level = f.bound
}

// HoverAt moves a bound that hovers to n.
func (f *Flight) HoverAt(n float64) { f.bound, f.level = n, n }

const (
	hoverGain  = 0.0021 // calls by which a bound that hovers grows in a round trip, for each call in flight
	hoverLeast = 7      // calls in flight: a lower bound that hovers grows as one of so many
	hoverKept  = 0.3    // of the level before: a fall below it is not due to others that share the cap
	hoverCut   = 0.12   // of the bound, for each rejection; twelve: a cap that four share
	trialGain  = 0.15   // calls by which a trial of more than hovers grows with each answer; silent rates with long calls
)

const (
	holdsFor  = climb                // of a cycle in flight, in which the bound returns to its level
	probeGain = rare                 // of the level, by which the bound grows in half a cycle after that
	cutsAbove = enough               // cuts above where a bound hovers: clearly above
	slowTrips = soonTrips / holdsFor // round trips: the shortest cycle of levels that agree, so that its first soonTrips try no more
)

// Follow has the bound follow the pace.
func (f *Flight) Follow(cycle, needed float64) {
	if f.mode != steady {
		f.bound = float64(f.Bound(needed))
		f.level, f.active, f.cycle, f.mode = f.bound, 0, cycle, steady
	}
	if f.level < needed {
		f.bound, f.level, f.active = min(f.Max, needed), min(f.Max, needed), 0
	}
}

// Restart begins a slow start at n at least.
func (f *Flight) Restart(n float64) {
	f.mode, f.Claimed, f.quiet = slowStart, false, silence{}
	f.bound = max(f.bound, n)
}

// hold sets the bound and its level to n.
func (f *Flight) hold(n float64) {
	f.mode, f.level, f.bound, f.active = steady, n, n, 0
	if f.cycle == 0 {
		f.cycle = settled(1)
	}
}

// Signal reduces the bound to a share of n calls in flight, because of a signal that is not a measurement. It grows back within
// a cycle.
func (f *Flight) Signal(share, n float64) {
	f.hold(n)
	f.bound = max(1, share*n)
}

// Agreed reports whether the levels refused of late are the same.
func (f *Flight) Agreed() bool {
	for _, h := range f.highs {
		if math.Abs(h-f.level) > max(1, sameLevel*f.level) {
			return false
		}
	}
	return true
}

// Return begins to raise the bound to n with each answer, or lowers it at once.
func (f *Flight) Return(n float64) {
	f.careful = f.mode == hovering
	f.kept = kept{f.mode, float64(f.Bound(0)), f.level}
	if f.mode == hovering { // it grows by less than a call from one trial to the next
		f.kept.bound = f.bound
	}
	f.bound = f.kept.bound + 1
	f.mode, f.level, f.active, f.toHover = returning, n, 0, false
	if f.bound >= n {
		f.hold(n)
	}
}

// Reopen raises the bound again, from n calls in flight and by one for each answer: after a pause all callers wait, and would go
// at once. A bound that hovers goes on hovering, because those of several processes under one cap would otherwise not converge. If
// few of its calls are left, the cap has fallen.
func (f *Flight) Reopen(n int) {
	b, from := float64(f.Bound(0)), float64(n+1)
	switch {
	case from >= b || f.mode == hovering && (f.part || from >= hoverKept*b):
	case f.mode == slowStart:
		f.bound = from
	default:
		f.toHover = f.Hovers() > 0
		f.careful = f.careful && f.mode == returning
		f.mode, f.bound, f.level, f.active = returning, from, max(f.level, b), 0
	}
}

// Back undoes Return.
func (f *Flight) Back() {
	f.mode, f.bound, f.level, f.active = f.kept.mode, f.kept.bound, f.kept.level, 0
}

// Climb goes on to raise the bound, because more than that holds. needed is what the pace takes.
func (f *Flight) Climb(needed float64) {
	f.bound = max(f.bound, float64(f.Bound(needed)))
	f.mode = climbing
}

// Wait is how long until the bound is above n by itself.
func (f *Flight) Wait(n int, needed float64) float64 {
	if !f.Binding || float64(n+1) > f.Max {
		return math.Inf(1)
	}
	switch f.mode {
	case slowStart:
		return f.quiet.wait(float64(n+1) - f.bound)
	case climbing, returning, hovering:
		return math.Inf(1)
	case steady:
	}
	want, hold, grow := float64(n+1), holdsFor*f.cycle, 0.5*f.cycle
	var at float64
	if want <= f.level && f.level > f.bound {
		at = hold * (want - f.bound) / (f.level - f.bound)
	} else {
		z := min(want-f.level, math.Cbrt((want-f.level)/(probeGain*f.level)))
		at = hold + grow*max(0, z)
	}
	return max(tiny, at-f.active)
}

// Next is how many seconds of activity it takes until more are allowed than
// were at the last cut; +Inf while that is not known.
func (f *Flight) Next() float64 {
	if f.mode != steady {
		return math.Inf(1)
	}
	return max(0, holdsFor*f.cycle-f.active)
}

// Hovers is where the bound hovers, or is on its way back to where it did; 0 if it does not.
func (f *Flight) Hovers() float64 {
	if f.mode == hovering || f.mode == returning && f.toHover {
		return f.bound
	}
	return 0
}

// needed is twice as many calls in flight as the pace takes by Little's law, and two more.
func (m *Machine) needed() float64 {
	if !m.Calls.On || m.off.Has(FollowRule) {
		return 0
	}
	return 2*m.Calls.Pace()*m.rtt + 2
}

// speed is how many calls can be sent per second, by Little's law where only those in flight are bounded.
func (m *Machine) speed() float64 {
	if m.Calls.On {
		return m.Calls.Rate
	}
	return float64(m.InFlight()) / m.rtt
}

// InFlight is how many calls may be in flight.
func (m *Machine) InFlight() int { return m.Flight.Bound(m.needed()) }
