package learn

// Noise finds refusals that do not become rarer as the pace, or a bound that hovers, is lowered. A limit
// explains two or three cuts in a row: the pace is below it then, and the next
// refusal comes only above the rate that was measured. Noise goes on at any pace,
// and is never away for long. Where too many of the calls are refused, it is a limit that has fallen.
type Noise struct {
	Share float64 // of all calls that are refused for nothing; 0: none is known

	at          float64 // when the newest call left
	seen        float64 // likewise at the last refusal of a pace within the share
	most        float64 // the share is no larger
	of          Value   // what the unexplained cuts are of: OfFlight or OfCalls
	before      float64 // that before the first of them
	suspected   float64 // when the newest call had left at the last of them
	trial       trial
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

// trial is that of a share that was just found. If the refusal of one of its calls exceeds it, a limit is the more likely cause.
type trial struct {
	ends float64 // of the calls sent; 0: there is none
	from float64 // what a bound that was restored had fallen to
}

// Opinion is what to do about a refusal.
type Opinion uint8

// The opinions.
const (
	Believe Opinion = iota // it says something about the limit
	Ignore                 // it is noise
	Restore                // it and those before it were
	Undo                   // they were not: more are refused since the bound was restored
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
func (n *Noise) Know(share float64) {
	n.Share, n.most, n.seen = share, noisy, n.at
	n.leak, n.exceeded, n.unexplained = 0, 0, 0
	n.trial = trial{}
}

// find is Know for a share that has just been found, which is on trial.
func (n *Noise) find(share float64) {
	n.Know(share)
	n.try(0)
}

// try begins a trial of so many calls that leave from now on, or of recent ones if those are more.
func (n *Noise) try(calls float64) { n.trial.ends = n.sent + max(recent, calls) }

// onTrial reports whether the refused call after which so many others left is one of a trial.
func (n *Noise) onTrial(later float64) bool { return n.trial.ends > 0 && n.sent-later <= n.trial.ends }

// Sent notes a call that left at a moment. It reports whether the share that was known ends, because its last refusal was too long ago.
func (n *Noise) Sent(at float64) (ends bool) {
	if n.sent++; n.sent > n.last+memory || at >= n.suspected+remembered {
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
// rate of the calls sent. later is how many calls left after the refused one.
func (n *Noise) Refused(measured, believed, pace, later float64) Opinion {
	n.turnTo(OfCalls)
	switch expected := measured >= explained*believed; {
	case expected && n.Share > 0:
		return n.absorb(2, later) // the limit or noise: twice as soon as noise alone, there are too many
	case expected:
		return n.expect(believed)
	}
	return n.weigh(believed, pace, paceFell, later)
}

// turnTo drops what could not be explained of another value.
func (n *Noise) turnTo(of Value) {
	if n.of != of {
		n.of, n.unexplained = of, 0
	}
}

// expect takes in a refusal that a limit explains.
func (n *Noise) expect(believed float64) Opinion {
	if n.unexplained = max(0, n.unexplained-1); believed >= n.before {
		n.unexplained = 0
	}
	return Believe
}

// weigh takes in a refusal that no limit explains. It is noise if the current value is below a share of what was believed before
// the first of them.
func (n *Noise) weigh(believed, current, below, later float64) Opinion {
	if n.Share > 0 {
		return n.absorb(1, later)
	}
	if n.unexplained == 0 {
		n.before, n.sent, n.last, n.early, n.between, n.refused = believed, 0, 0, 0, 0, 1
	}
	n.unexplained++
	if n.last > 0 {
		n.between++
		n.early += n.last
	}
	n.last, n.suspected = n.sent, n.at
	if n.unexplained < max(n.need, convinced) || current >= below*n.before || !n.looksRandom() {
		return Believe
	}
	n.find(min(noisy, n.refused/n.sent))
	return Restore
}

// looksRandom reports whether refusals have come as those that no limit explains.
func (n *Noise) looksRandom() bool { return n.refused-1 <= noisy*n.sent && !n.rarer() }

// rarer reports whether unexplained refusals became rarer as the pace fell, as those of a limit do: most of them are among the first
// calls (as in Laplace's trend test, with a fixed bound).
func (n *Noise) rarer() bool { return n.early < trend*n.between*n.last }

// Forget drops what could not be explained, because it is now.
func (n *Noise) Forget() { n.unexplained = 0 }

// Before is the pace before random rejections began to lower it.
func (n *Noise) Before() float64 { return n.before }

// Absorb counts one more refusal as one of the known share, if it is within that. If there are
// too many, on trial or again and again, it was no noise.
func (n *Noise) Absorb(later float64) Opinion {
	n.turnTo(OfCalls)
	return n.absorb(1, later)
}

func (n *Noise) absorb(weight, later float64) Opinion {
	if n.Share == 0 {
		return Believe
	}
	n.Share = min(n.most, n.Share+1.0/memory)
	if n.of == OfCalls {
		n.seen = n.at
	}
	if n.leak += weight; n.leak < convinced {
		return Ignore
	}
	n.leak = 0
	switch n.exceeded++; {
	case n.onTrial(later) && n.of == OfCalls: // above the limit, but there may be random rejections as well
		n.end()
	case n.exceeded >= convinced, n.onTrial(later):
		n.disprove()
	}
	return Believe
}

func (n *Noise) end() { n.Share, n.exceeded = 0, 0 }

// disprove ends the share. The next one needs more evidence.
func (n *Noise) disprove() {
	n.end()
	n.need = min(needMost, max(n.need, convinced)*2)
}

// judgeRandom reports refusals that no rate would have prevented, and counts them. Where tokens are paced, a rate of them explains a
// refusal, too.
func (m *Machine) judgeRandom(now float64, c Call, r *Refusal, measured Rate) bool {
	if m.limitAsks(c, r) || m.off.Has(StrayRule) {
		return false
	}
	var opinion Opinion
	known, later := m.noise.Share > 0, m.sentAfter(c)
	if m.Calls.On {
		calls := measured.Calls
		if m.Tokens.On {
			calls = max(calls, m.Calls.Rate*measured.Tokens/m.Tokens.Rate)
		}
		opinion = m.noise.Refused(calls, m.Calls.Rate, m.Calls.Pace(), later)
	} else {
		opinion = m.noise.Absorb(later)
	}
	m.noteNoNoise(now, known)
	switch opinion {
	case Believe, Undo:
		return false
	case Restore:
		m.note(Decision{At: now, Kind: Grow, Of: OfCalls, From: m.Calls.Pace(), To: m.noise.Before(), Why: WhyNoise})
		m.Calls.Set(m.noise.Before(), m.cycle())
		m.noise.try(m.noise.Before() * m.rtt)
		m.mark(now, c)
	case Ignore:
	}
	return true
}

// limitAsks reports whether the wait that a refusal asks for shows that a limit refused the call. It does not if such waits are known
// to be too long. One of up to a second may be a fraction rounded up, so it does unless the headers say that the call would have fitted.
func (m *Machine) limitAsks(c Call, r *Refusal) bool {
	switch {
	case !r.asksToWait():
		return false
	case r.Asked <= 1:
		return !r.showsRoom(c.Tokens)
	}
	return !m.Door.longTooLong()
}

// sentAfter is how many calls left after c.
func (m *Machine) sentAfter(c Call) float64 { return float64(m.tally.last.Seq - c.Seq) }

// claimWasRandom reports whether the refusals under a claim that does not hold were random. If so, a slow start begins anew.
func (m *Machine) claimWasRandom(now float64, c Call) bool {
	share, ok := m.claim.Noise(float64(m.hits))
	if !ok || m.rateExplains(c) || m.off.Has(StrayRule) {
		return false
	}
	m.noise.find(share)
	m.claim.repeats.Forget()
	m.stopLevels(now)
	m.Flight.Restart(m.claim.level)
	m.note(Decision{At: now, Kind: Verdict, To: share, Why: WhyNoiseInFlight})
	return true
}

// rateExplains reports whether a rate about which measurements agreed before the claim explains the refusals under it: about as much has
// been admitted since, because the pace was higher.
func (m *Machine) rateExplains(c Call) bool {
	span := c.At - m.claim.at
	part := m.tally.since(c, span).Calls / (m.claim.rate * span)
	return part >= explained && part <= standBy
}

// noteNoNoise reports that the share of random rejections that was known has ended.
func (m *Machine) noteNoNoise(now float64, known bool) {
	if known && m.noise.Share == 0 {
		m.note(Decision{At: now, Kind: Verdict, Why: WhyNoNoise})
	}
}
