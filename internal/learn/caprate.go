package learn

// CapRate is what got through for some time under a cap on the calls in flight. Errors of
// a few seconds refute the cap, and a rate is measured while they last. So when much less gets
// through than before, the cap is tried again.
type CapRate struct {
	level  float64 // calls in flight
	calls  float64 // calls per second; 0: no cap has held
	tokens float64 // likewise
	fell   bool    // much less has got through since
	until  float64 // it is kept
	trying bool    // the trial of a level that runs is about the cap
	before paces   // from which it began
}

type paces struct{ calls, tokens float64 } // per second; no tokens: they were not paced

// setPaces goes back to the paces before a trial.
func (m *Machine) setPaces(p paces) {
	m.Calls.Set(p.calls, m.cycle())
	if p.tokens > 0 {
		m.Tokens.Set(p.tokens, m.cycle())
	}
}

const heldFor = cycleShortest // seconds without a refusal in which a cap has held

// Held notes that at a moment a cap has rejected a call at a level, and the rate since the mark.
// If that is much less than before, what held before is kept for as long as it is tried again.
func (c *CapRate) Held(now, level float64, r Rate) {
	if r.Span < heldFor {
		c.fell = false
		return
	}
	c.fell = r.Calls < memoryFell*c.calls && (c.until == 0 || now < c.until)
	switch {
	case !c.fell:
		c.level, c.calls, c.tokens, c.until = level, r.Calls, r.Tokens, 0
	case c.until == 0:
		c.until = now + remembered
	}
}

// compareWithCap compares the rate, which was just measured over span seconds, with what got through under the cap before. The
// cap is tried again if the rate is much lower, and forgotten if it is no lower, or when the cap has been tried for long enough.
func (m *Machine) compareWithCap(now, span float64) {
	switch c := &m.capRate; {
	case span >= heldFor && m.Calls.Rate >= stillHolds*c.calls:
		*c = CapRate{}
	case m.Calls.Rate >= memoryFell*c.calls:
	case c.until == 0:
		c.until = now + remembered
		m.levels.Fell(now, c.level)
	case now >= c.until:
		*c = CapRate{}
	default:
		m.levels.Fell(now, c.level)
	}
}

// capTried reports whether the trial of a cap runs. It sets the pace, so that no
// trial of a rate does.
func (m *Machine) capTried(now float64) bool {
	return m.levels.Trying(now) && m.capRate.trying
}

// tryCap makes the trial of a level, which has begun, one of the cap that held.
func (m *Machine) tryCap(now float64) {
	c := &m.capRate
	c.trying = false
	if m.off.Has(MemoryRule) || c.calls == 0 || !m.Calls.On || m.Flight.Claimed {
		return
	}
	c.trying, c.before = true, paces{m.Calls.Rate, m.Tokens.Rate}
	if m.rates.Trying(now) {
		c.before = paces{m.rates.Refused(now, m.Door.rtt), m.tokensFrom}
	}
	m.Calls.Set(standBy*c.calls, m.cycle())
	m.Tokens.Set(max(standBy*c.tokens, m.Tokens.Rate), m.cycle())
	m.Flight.Claimed = true
	m.claim.Begin(Call{Others: int(c.level)}, float64(m.hits))
}

// endCapTrial goes back to the rates because the trial was rejected.
func (m *Machine) endCapTrial() {
	c := &m.capRate
	if !c.trying {
		return
	}
	m.setPaces(c.before)
	m.Flight.Claimed = false
	c.trying = false
}
