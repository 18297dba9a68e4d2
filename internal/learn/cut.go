package learn

func (m *Machine) cycle() float64 { return m.calm.Cycle(m.Calls.Rate) }

// begin begins an epoch at the refused call c.
func (m *Machine) begin(now float64, c Call) {
	m.cut, m.cutBy, m.knows = now, m.tally.last.Seq, true
	m.tally.Mark(c)
	m.resumed = Point{}
}

// cutFlight answers a cap.
func (m *Machine) cutFlight(now float64, c Call) {
	before := m.InFlight()
	if m.claim.shared || m.Flight.mode == hovering && !m.claim.alone {
		m.Flight.Hover(float64(c.Others))
	} else {
		m.Flight.Cap(float64(c.Others), m.trip)
	}
	m.note(Decision{At: now, Kind: Cut, Of: OfFlight, From: float64(before), To: float64(m.InFlight()), Why: WhyCap})
	m.begin(now, c)
}

// marks is whose bucket a refusal shows as empty: that of the limit that it
// names, or of calls where nobody counts tokens, else both. A pace that no limit
// stands behind would only be a second one in series. That of calls has to be
// known, because the bound follows it.
func (m *Machine) marks(c Call, r *Refusal) (calls, tokens bool) {
	if m.off.Has(NameRule) {
		return true, true
	}
	return r.Names != TokenLimit || !m.Calls.On || c.Tokens == 0, r.Names != CallLimit
}

// cutPace answers a rate, with what was measured.
func (m *Machine) cutPace(now float64, c Call, r *Refusal) {
	measured := m.rate
	d := Decision{At: now, Kind: Cut, Of: OfCalls, From: m.Calls.Pace(), Why: WhyRate}
	if m.off.Has(MeasureRule) && m.Calls.On {
		measured.Calls, measured.Tokens, measured.Few = m.Calls.Pace()/2, m.Tokens.Pace()/2, false
	}
	tokens := m.Tokens.Pace()
	ofCalls, ofTokens := m.marks(c, r)
	if ofCalls {
		if m.Calls.On && !m.off.Has(CalmRule) {
			m.calm.Marked(measured.Calls, m.Calls.Rate)
		}
		m.Calls.Cut(measured.Calls, Cycle(measured.Calls), measured.Few)
		m.Calls.SetCycle(m.cycle())
		m.Calls.Agreed = m.calm.Agreed()
	}
	if ofTokens && c.Tokens > 0 {
		m.Tokens.Cut(measured.Tokens, m.cycle(), measured.Few)
	}
	m.Flight.Follow(m.cycle(), m.needed())
	if !r.hinted() && !m.off.Has(GateRule) {
		m.Door.Pause(now, m.Calls.Rate)
	}
	if d.To = m.Calls.Pace(); !ofCalls {
		d.Of, d.From, d.To, d.Why = OfTokens, tokens, m.Tokens.Pace(), WhyTokens
	}
	m.note(d)
	m.begin(now, c)
}
