package learn

// Noise looks for refusals that do not become fewer when the pace falls, or a bound that hovers. A limit
// explains two or three cuts in a row: the pace is below it then, and the next
// refusal comes only above the rate that was measured. Noise goes on at any pace,
// and is never away for long. Where too many of the calls are refused, it is a limit that has fallen, or others use the same cap,
// which shows when the bound is restored.
type Noise struct {
	Share float64 // of all calls that are refused for nothing; 0: none is known

	at          float64 // when the newest call left
	seen        float64 // likewise at the last refusal within the share
	most        float64 // the share is no larger
	of          Value   // what the unexplained cuts are of: OfFlight or OfCalls
	before      float64 // that before the first of them
	fallen      float64 // what the bound had fallen to when it was restored
	tested      float64 // of sent: until then, too many refusals undo that
	sent        float64
	refused     float64 // of these, all in an epoch
	unexplained float64
	last        float64 // of sent, at the last unexplained one
	early       float64 // sum of sent at those between the first and that
	between     float64 // how many these are
	leak        float64 // refusals put down to noise of late
	exceeded    float64 // times there were too many for that
	need        float64
}

// Opinion is what to do about a refusal.
type Opinion uint8

// The opinions.
const (
	Believe Opinion = iota // it says something about the rate
	Ignore                 // it is noise
	Restore                // it and those before it were
	Undo                   // they were not: more are refused since the bound is restored
)

const (
	trend     = 0.33 // unexplained refusals whose mean is below this part of the calls from the first to the last become rarer; headrace demo
	leakLeast = 0.01 // refusals forgotten with each call, besides twice the share; beyond: 2 and 5 % random rejections
)

const (
	explained = 1 - 0.5*climbBy // of the rate believed: closer to it than to the pace just after a mark, so the provider's bucket was empty
	paceFell  = backOff         // of the pace before the first unexplained cut: below it, a limit would no longer refuse
	needMost  = recent          // unexplained refusals that a share needs as evidence, at most
)

// Know says that so large a share of calls is refused for nothing.
func (n *Noise) Know(share float64) { n.Share, n.most, n.seen, n.tested = share, noisy, n.at, 0 }

// Sent notes a call that left at a moment. It reports whether the share that was known ends, because its last refusal was too long ago.
func (n *Noise) Sent(at float64) (ends bool) {
	if n.sent++; n.sent > n.last+memory {
		n.unexplained = 0
	}
	n.need = max(0, n.need-1.0/memory)
	n.leak = max(0, n.leak-2*n.Share-leakLeast)
	n.exceeded = max(0, n.exceeded-1.0/memory)
	n.Share -= n.Share / memory
	n.at = at
	if ends = n.Share > 0 && at >= n.seen+remembered; ends {
		n.Share = 0
	}
	return ends
}

// Hit notes that a call was refused.
func (n *Noise) Hit() { n.refused++ }

// Refused judges the first refusal of an epoch. measured is the rate at that moment, believed that of the pacer, and pace the
// rate of the calls sent.
func (n *Noise) Refused(measured, believed, pace float64) Opinion {
	n.turnTo(OfCalls)
	switch expected := measured >= explained*believed; {
	case expected && n.Share > 0:
		return n.absorb(2) // the limit or noise: twice as soon as noise alone, there are too many
	case expected:
		return n.expect(believed)
	}
	return n.weigh(believed, pace, paceFell)
}

// UnderCap judges one where a bound on the calls in flight hovers. grown is whether the bound had grown by a cut since the last one.
// At a low bound, refusals under a cap that others share look like noise. A share that rises with the bound is none.
func (n *Noise) UnderCap(bound float64, grown bool) Opinion {
	n.turnTo(OfFlight)
	switch known := n.Share > 0; {
	case !known && grown:
		return n.expect(bound)
	case !known && n.unexplained == 0 && bound < hoverLeast:
		return Believe
	}
	opinion := n.weigh(bound, bound, 0.5)
	if opinion == Restore {
		n.most, n.fallen, n.tested = n.Share, bound, n.sent+recent
	}
	return opinion
}

// turnTo drops what could not be explained of another value.
func (n *Noise) turnTo(of Value) {
	if n.of != of {
		n.of, n.unexplained = of, 0
	}
}

// expect takes in a refusal that a limit explains.
func (n *Noise) expect(believed float64) Opinion {
	if n.unexplained--; n.unexplained < 0 || believed >= n.before {
		n.unexplained = 0
	}
	return Believe
}

// weigh takes in a refusal that no limit explains. It is noise if now has fallen to a part fell of what was believed before
// the first of them.
func (n *Noise) weigh(believed, now, fell float64) Opinion {
	if n.Share > 0 {
		return n.Absorb()
	}
	if n.unexplained == 0 {
		n.before, n.sent, n.last, n.early, n.between, n.refused = believed, 0, 0, 0, 0, 1
	}
	n.unexplained++
	if n.last > 0 {
		n.between++
		n.early += n.last
	}
	n.last = n.sent
	if n.unexplained < max(n.need, convinced) || now >= fell*n.before || !n.looksRandom() {
		return Believe
	}
	n.Know(min(noisy, n.refused/n.sent))
	n.leak, n.unexplained = 0, 0
	return Restore
}

// looksRandom reports whether refusals have come as those that no limit explains.
func (n *Noise) looksRandom() bool { return n.refused-1 <= noisy*n.sent && !n.rarer() }

// rarer reports whether unexplained refusals became rarer as the pace fell, as those of a limit do: most of them are among the first
// calls (as in Laplace's trend test, with a fixed bound).
func (n *Noise) rarer() bool { return n.early < trend*n.between*n.last }

// Forget drops what could not be explained, because it is now.
func (n *Noise) Forget() { n.unexplained = 0 }

// Before is the pace or the bound before random rejections began to lower it.
func (n *Noise) Before() float64 { return n.before }

// Fallen is what the bound had fallen to when it was restored.
func (n *Noise) Fallen() float64 { return n.fallen }

// Absorb counts one more refusal as one of the known share, if it is within that. If there are
// too many, again and again, it was no noise.
func (n *Noise) Absorb() Opinion { return n.absorb(1) }

func (n *Noise) absorb(weight float64) Opinion {
	if n.Share == 0 {
		return Believe
	}
	n.Share, n.seen = min(n.most, n.Share+1.0/memory), n.at
	if n.leak += weight; n.leak < convinced {
		return Ignore
	}
	n.leak, n.unexplained = 0, 0
	n.exceeded++
	switch tested := n.sent < n.tested; {
	case tested:
		n.disprove()
		return Undo
	case n.exceeded >= convinced:
		n.disprove()
	}
	return Believe
}

// disprove ends the share. The next one needs more evidence.
func (n *Noise) disprove() {
	n.Share, n.exceeded = 0, 0
	n.need = min(needMost, max(n.need, convinced)*2)
}

// randomUnderCap reports refusals that no cap explains where the bound hovers, and counts them.
func (m *Machine) randomUnderCap(now float64, c Call) bool {
	f := &m.Flight
	if f.mode != hovering || f.part || !f.Claimed || m.off.Has(StrayRule) {
		return false
	}
	known, before := m.noise.Share > 0, float64(m.InFlight())
	opinion := m.noise.UnderCap(f.bound, f.cutsAboveLast() >= 1)
	m.noteNoNoise(now, known)
	d := Decision{At: now, Of: OfFlight, From: before}
	switch opinion {
	case Believe:
		return false
	case Ignore:
		return true
	case Restore:
		f.HoverAt(m.noise.Before())
		d.Kind, d.Why = Grow, WhyNoise
	case Undo:
		f.HoverAt(min(f.bound, m.noise.Fallen()))
		d.Kind, d.Why = Cut, WhyNotYet
		m.mark(now, c)
	}
	d.To = float64(m.InFlight())
	m.note(d)
	return true
}

// judgeRandom reports refusals that no rate would have prevented, and counts them. One that asks for a wait is the limit's,
// unless such waits are known to be too long. Where tokens are paced, a rate of them explains a refusal, too.
func (m *Machine) judgeRandom(now float64, c Call, r *Refusal, measured Rate) bool {
	if r.asksToWait() && m.Door.honest(r.Asked) || m.off.Has(StrayRule) {
		return false
	}
	var opinion Opinion
	known := m.noise.Share > 0
	if m.Calls.On {
		calls := measured.Calls
		if m.Tokens.On {
			calls = max(calls, m.Calls.Rate*measured.Tokens/m.Tokens.Rate)
		}
		opinion = m.noise.Refused(calls, m.Calls.Rate, m.Calls.Pace())
	} else {
		opinion = m.noise.Absorb()
	}
	m.noteNoNoise(now, known)
	switch opinion {
	case Believe, Undo:
		return false
	case Restore:
		m.note(Decision{At: now, Kind: Grow, Of: OfCalls, From: m.Calls.Pace(), To: m.noise.Before(), Why: WhyNoise})
		m.Calls.Set(m.noise.Before(), m.cycle())
		m.mark(now, c)
	case Ignore:
	}
	return true
}

// claimWasRandom reports whether the refusals under a claim that does not hold were random. If so, a slow start begins anew.
func (m *Machine) claimWasRandom(now float64) bool {
	share, ok := m.claim.Noise(float64(m.hits))
	if !ok || m.off.Has(StrayRule) {
		return false
	}
	m.noise.Know(share)
	m.claim.repeats.Forget()
	m.stopLevels(now)
	m.Flight.Restart(m.claim.level)
	m.note(Decision{At: now, Kind: Verdict, To: share, Why: WhyNoise})
	return true
}

// noteNoNoise reports that the share of random rejections that was known has ended.
func (m *Machine) noteNoNoise(now float64, known bool) {
	if known && m.noise.Share == 0 {
		m.note(Decision{At: now, Kind: Verdict, Why: WhyNoNoise})
	}
}
