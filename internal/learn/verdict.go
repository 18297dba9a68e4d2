package learn

// verdict is the interpretation of a refusal.
type verdict uint8

const (
	isNothing verdict = iota // it says nothing about our limits
	isShut                   // likewise, and no call has got through since the last one
	isRandom                 // one of the share that is rejected at random, so that no wait helps
	isRate
	isCap
)

// judge interprets the first refusal of an epoch, and returns the rate that it measures. tested is whether the call belonged to a
// test of the headers. A rate is the default: mistaking a concurrency limit for a rate costs a few percent, while the converse
// starves. The first refusal that names no limit is still taken for a concurrency limit, because that is soon refuted. One that names
// a rate is not, but if such refusals keep coming at one number of calls in flight, the name is wrong.
func (m *Machine) judge(now float64, c Call, r *Refusal, tested bool) (verdict, Rate) {
	tried := tested || m.failTrials(now, c)
	if refuted := m.Flight.Claimed && m.claim.scattered(); tried && !refuted {
		m.endTrial(now, c)
		return isNothing, Rate{}
	}
	m.claim.Refused(c.Others, r.asksToWait())
	if m.unnamedUnderCap(now, r) && !m.foreign.Count() {
		m.passForeign(now)
		m.mark(now, c)
		return isNothing, Rate{}
	}
	cause := m.cause(now, c, r)
	if cause == isNothing || cause == isShut || cause == isRandom {
		return cause, Rate{}
	}
	if cause == isCap && !m.Flight.Claimed {
		m.claimCap(now, c)
	}
	measured := m.measure(c, r, cause == isCap)
	if cause == isCap {
		m.Flight.Claimed = true
		m.capRate.Held(now, float64(c.Others), measured)
		return isCap, measured
	}
	if m.marked && m.judgeRandom(now, c, r, measured) {
		cause = isRandom
	}
	if kept := cause == isRandom && r.asksToWait(); !kept { // a cap asks for no wait: a random refusal that does says nothing against it
		m.giveUpCap(now, c)
	}
	return cause, measured
}

// giveUpCap ends the claim of a cap, which does not explain the refusal of the call c. What it let through in the last minute has held.
func (m *Machine) giveUpCap(now float64, c Call) {
	if !m.Flight.Claimed {
		return
	}
	m.Flight.Claimed = false
	m.note(Decision{At: now, Kind: Verdict, Why: WhyNoCap})
	m.rememberLastMinute(now, c)
}

// endTrial begins an epoch at the refused call c of a trial, which measures nothing.
func (m *Machine) endTrial(now float64, c Call) {
	if m.tally.dark > 0.5*(c.At-m.tally.mark.At) { // what was admitted until the pause ended still counts
		m.tally.Measure(c, Doubt{}, 0)
	}
	m.mark(now, c)
}

// cause is what has refused the call c, by the refusal itself and by those before it. A rate may still turn out to be random.
func (m *Machine) cause(now float64, c Call, r *Refusal) verdict {
	switch {
	case r.Names == FlightLimit:
		return isCap
	case m.collided(c, r):
		m.note(Decision{At: now, Kind: Verdict, Why: WhyCollided})
		m.beginEpoch(now)
		return isNothing
	case r.asksToWait():
		return isRate
	case m.randomInFlight(now, c):
		return isRandom
	case m.looksLikeCap(c, r):
		return isCap
	case m.Flight.Claimed:
		if m.claimWasRandom(now, c) {
			return isNothing
		}
		return isRate
	case !m.judgeForeign(now, c, r):
		return isRate
	case r.hasMeters() && c.Others >= 2 && m.foreign.Count(): // they keep coming, so they are not about another limit
		return isCap
	case r.hasMeters() && m.foreignShut(now, c):
		return isShut
	default:
		m.passForeign(now)
		return isNothing
	}
}

// looksLikeCap reports whether a refusal that asks for no wait is taken for one of a cap.
func (m *Machine) looksLikeCap(c Call, r *Refusal) bool {
	first := !m.marked && !m.Calls.On && c.Others > 0
	switch {
	case m.Flight.Claimed:
		return m.claim.Weigh(c, m.tally.mark.At, m.rtt, m.Flight.Hovers() > 0)
	case r.hasMeters():
		return false
	case m.claim.repeats.Show():
		return true
	default:
		return first && r.Names == Unnamed && !m.off.Has(CapRule)
	}
}

// measure is the rate that the refused call c measures.
func (m *Machine) measure(c Call, r *Refusal, isACap bool) Rate {
	return m.correctDark(m.tally.Measure(c, Doubt{
		First: !m.marked || !m.Calls.On && !isACap, // the bucket may have been full
		Grown: m.Calls.Grown() || r.mayBeTokens() && m.Tokens.Grown(),
		Fined: m.Door.fines.Each() > 0,
		Early: m.Calls.On && m.Calls.Early(),
	}, m.spans.Window))
}

// correctDark corrects a measured rate for the time in which no call was admitted. The rate
// that marks agreed about stays if it may have held for the rest of the span. If that
// rest is less than half of the span, the same is true of the rate in use.
func (m *Machine) correctDark(r Rate) Rate {
	light, known := r.Span-m.tally.dark, m.calm.Settled
	if m.tally.dark > light {
		known = max(known, m.Calls.Rate)
	}
	if r.Calls < known && light > 0 && !m.off.Has(MeasureRule) {
		more := min(known/r.Calls, r.Span/light)
		r.Calls *= more
		r.Tokens *= more
	}
	return r
}

const standBy = 1.2 // times the pace or the rate before: the pace while a cap holds

// claimCap begins a claim: the calls in flight are bounded, and the rate is kept in reserve.
func (m *Machine) claimCap(now float64, c Call) {
	m.claim.Begin(c, float64(m.hits))
	if m.calm.Agreed() {
		m.claim.rate = m.Calls.Rate
	}
	m.noise.Forget() // what no other claim explained
	m.note(Decision{At: now, Kind: Verdict, To: float64(c.Others), Why: WhyCap})
	if m.Calls.On {
		m.Calls.Set(standBy*m.Calls.Pace(), m.cycle())
		m.Tokens.Set(standBy*m.Tokens.Pace(), m.cycle())
	}
}
