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

// cutPace answers a rate, with what was measured.
func (m *Machine) cutPace(now float64, c Call, r *Refusal) {
	measured, before := m.rate, m.Calls.Pace()
	if m.off.Has(MeasureRule) && m.Calls.On {
		measured.Calls, measured.Tokens, measured.Few = before/2, m.Tokens.Pace()/2, false
	}
	if m.Calls.On && !m.off.Has(CalmRule) {
		m.calm.Marked(measured.Calls, m.Calls.Rate)
	}
	m.Calls.Cut(measured.Calls, Cycle(measured.Calls), measured.Few)
	m.Calls.SetCycle(m.cycle())
	m.Calls.Agreed = m.calm.Agreed()
	if c.Tokens > 0 {
		m.Tokens.Cut(measured.Tokens, m.cycle(), measured.Few)
	}
	m.Flight.Follow(m.cycle(), m.needed())
	if !r.hinted() && !m.off.Has(GateRule) {
		m.Door.Pause(now, m.Calls.Rate)
	}
	m.note(Decision{At: now, Kind: Cut, Of: OfCalls, From: before, To: m.Calls.Pace(), Why: WhyRate})
	m.begin(now, c)
}
