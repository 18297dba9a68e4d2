package learn

// cutFlight answers a cap, which a refusal has named or not.
func (m *Machine) cutFlight(now float64, c Call, named bool) {
	before := m.InFlight()
	if m.claim.namedUntil = 0; named {
		m.claim.namedUntil = now + remembered
	}
	m.stopLevels(now)
	if hovers := m.claim.shared || m.Flight.mode == hovering && !m.claim.untaken; hovers && !m.off.Has(HoverRule) {
		if m.Flight.mode != hovering {
			m.noise.Forget() // the bound has grown since it hovered last
		}
		m.Flight.Hover(float64(c.Others))
	} else {
		m.Flight.Cap(float64(c.Others), m.rtt)
	}
	m.rememberLevel(now, float64(before), float64(m.InFlight()), named)
	if m.capRate.fell {
		m.levels.Fell(now, m.capRate.level)
	}
	m.note(Decision{At: now, Kind: Cut, Of: OfFlight, From: float64(before), To: float64(m.InFlight()), Why: WhyCap})
	m.mark(now, c)
}

// cutPace answers a rate, with what was measured.
func (m *Machine) cutPace(now float64, c Call, r *Refusal, measured Rate) {
	before := m.Calls.Pace()
	m.firstMark, m.unused = !m.Calls.On, 0
	if m.off.Has(MeasureRule) && m.Calls.On {
		measured.Calls, measured.Tokens, measured.Few = m.Calls.Pace()/2, m.Tokens.Pace()/2, false
	}
	if m.Calls.On && !m.off.Has(GrowthRule) {
		m.calm.Marked(measured.Calls, m.Calls.Rate)
		m.weighPeers(now, c, measured.Calls)
	}
	if m.Calls.rested { // the small measurements before the pause are over
		m.tally.next = stretch{}
	}
	lacked, admitted := m.weighTokens(c), measured.Calls
	if lacked {
		measured.Calls = max(measured.Calls, m.Calls.Rate)
	}
	m.Calls.Cut(measured.Calls, Cycle(measured.Calls), measured.Few)
	if m.firstMark {
		m.Calls.weak = measured.Few && m.tally.rested
	}
	m.Calls.SetCycle(m.cycle())
	m.rememberAdmitted(now, c, measured.Span)
	m.weighRoom(now, c, r)
	if m.firstMark {
		m.rememberLastMinute(now, c)
	}
	m.rates.Marked(now, m.Calls.Rate, m.calm.Agreed())
	m.compareWithCap(now, measured.Span)
	if r.mayBeTokens() && c.Tokens > 0 { // a call that took none says nothing of their rate
		m.cutTokens(c, measured, admitted, lacked)
	}
	m.Flight.Follow(m.cycle(), m.needed())
	m.pauseAfterCut(now, c, r)
	m.note(Decision{At: now, Kind: Cut, Of: OfCalls, From: before, To: m.Calls.Pace(), Why: WhyRate})
	m.mark(now, c)
}

// cutTokens lowers the pace of tokens to what was measured, when so many calls per second were admitted. lacked is whether tokens are
// what the refused call c lacked.
func (m *Machine) cutTokens(c Call, measured Rate, admitted float64, lacked bool) {
	if m.Tokens.On && !lacked && m.tally.fates.WasHeldBack(c.Seq) { // their pace had room: it is no sign that they ran out
		measured.Tokens = max(measured.Tokens, m.Tokens.Rate)
	}
	if measured.Tokens == 0 {
		return
	}
	cycle := m.cycle()
	if m.largeHits >= enough { // the pace of calls may be far above what is admitted
		cycle = m.cycleAt(min(m.Calls.Rate, admitted))
	}
	m.Tokens.Cut(measured.Tokens, cycle, measured.Few)
}

// pauseAfterCut waits about one call after a refusal that asks for no wait. A refused call whose wait is shorter than half of an
// interval keeps its turn.
func (m *Machine) pauseAfterCut(now float64, c Call, r *Refusal) {
	switch wait := m.Door.Until - now; {
	case m.off.Has(GateRule):
	case !r.asksToWait():
		m.Door.Pause(now, m.Calls.Rate)
	case 2*wait*m.Calls.Pace() < 1 && !m.Door.understated():
		m.Calls.Again(1)
		m.Tokens.Again(m.paced(c.Tokens))
	}
}

// weighTokens compares the refused call c with the mean, and reports whether tokens are what it lacked, although their pace would
// allow it: refused calls tend to be larger than the mean, and at that rate the provider's bucket would have held enough. Where
// calls are limited, most refused calls are smaller, because few calls are far above the mean.
func (m *Machine) weighTokens(c Call) bool {
	m.largeHits.note(c.Tokens > m.tally.total.Tokens/max(1, m.tally.total.Calls))
	m.largeHits = min(convinced, m.largeHits)
	return m.largeHits >= enough && m.Tokens.On && m.Tokens.model >= c.Tokens
}

// restUnmeasured has the first rate not be measured over a pause in demand, in which far more might have been admitted. That no call
// waits while one takes long is no pause: its caller may have no other.
func (m *Machine) restUnmeasured(now float64) {
	if ended := m.ended; !m.marked && !m.Calls.On && ended >= m.tally.last.At && now-ended > interruption {
		m.tally.Restart(now)
	}
}

// correctFirstMark corrects the first mark before the call c leaves. Calls that left together arrive in any order: the first refusal
// received may be that of the first call, while later calls have got through. By now all of their refusals have been received.
// How fast a handful of calls got through says nothing; they are measured over the pause that follows.
func (m *Machine) correctFirstMark(c Call) {
	m.firstMark = false
	got, span := m.tally.sinceStart()-float64(c.Seq-1-m.epoch.last), max(shortest, m.epoch.at-m.tally.start)
	rate, burst := got/span, m.tally.mark.At-m.tally.start < shortest
	fines := &m.Door.fines
	switch each := fines.Each(); {
	case m.off.Has(GrowthRule):
		return
	case each > 0 && fines.calls >= enough:
		rate = min(m.Calls.Rate, 1/each)
	case got >= handful && burst:
	case got >= 1 && got < handful && m.Door.Until-m.epoch.at > 1+askedJitter: // a second may be any fraction, rounded up
		got += min(got, float64(m.hits)-1) // refusals may have cost quota, too
		rate = min(m.Calls.Rate, (got+1)/(c.At-m.tally.start-m.unused))
	default:
		return
	}
	d := Decision{At: c.At, Kind: Cut, Of: OfCalls, From: m.Calls.Pace(), Why: WhyFirst}
	m.Calls.Correct(rate, Cycle(rate))
	m.Calls.SetCycle(m.cycle())
	if each := m.tally.each(); m.Tokens.On && each > 0 {
		m.Tokens.Correct(rate*each, m.cycle())
	}
	m.Flight.Follow(m.cycle(), m.needed())
	if d.To = m.Calls.Pace(); d.To > d.From {
		d.Kind = Grow
	}
	m.note(d)
}
