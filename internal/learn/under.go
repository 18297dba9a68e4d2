package learn

// Under is what got through for some time under a cap on the calls in flight. Errors of
// a few seconds refute the cap, and a rate is measured while they last. So when much less gets
// through than before, the cap is tried again.
type Under struct {
	level  float64 // calls in flight
	rate   float64 // calls per second; 0: no cap has held
	tokens float64 // likewise
	fell   bool    // much less has got through since
	until  float64 // it is kept
	trying bool    // the trial of a level that runs is about the cap
	before paces   // from which it began
}

type paces struct{ calls, tokens float64 } // per second

const underHeld = cycleShortest // seconds without a refusal in which a cap has held

// Held notes that at a moment a cap has rejected a call at a level, and the rate since the mark.
// If that is much less than before, what held before is kept for as long as it is tried again.
func (u *Under) Held(now, level float64, r Rate) {
	if r.Span < underHeld {
		u.fell = false
		return
	}
	u.fell = r.Calls < memoryFell*u.rate && (u.until == 0 || now < u.until)
	switch {
	case !u.fell:
		u.level, u.rate, u.tokens, u.until = level, r.Calls, r.Tokens, 0
	case u.until == 0:
		u.until = now + remembered
	}
}

// compareWithCap compares the rate, which was just measured over span seconds, with what got through under the cap before. The
// cap is tried again if the rate is much lower, and forgotten if it is no lower, or when the cap has been tried for long enough.
func (m *Machine) compareWithCap(now, span float64) {
	switch u := &m.under; {
	case span >= underHeld && m.Calls.Rate >= stillHolds*u.rate:
		*u = Under{}
	case m.Calls.Rate >= memoryFell*u.rate:
	case u.until == 0:
		u.until = now + remembered
		m.levels.Fell(now, u.level)
	case now >= u.until:
		*u = Under{}
	default:
		m.levels.Fell(now, u.level)
	}
}

// capTried reports whether the trial of a cap runs. It sets the pace, so that no
// trial of a rate does.
func (m *Machine) capTried(now float64) bool {
	return m.levels.Trying(now) && m.under.trying
}

// tryCap makes the trial of a level, which has begun, one of the cap that held.
func (m *Machine) tryCap(now float64) {
	u := &m.under
	u.trying = false
	if m.off.Has(MemoryRule) || u.rate == 0 || !m.Calls.On || m.Flight.Claimed {
		return
	}
	u.trying, u.before = true, paces{m.Calls.Rate, m.Tokens.Rate}
	if m.rates.Trying(now) {
		u.before.calls = m.rates.Refused(now, m.Door.rtt)
	}
	m.Calls.Set(standBy*u.rate, m.cycle())
	m.Tokens.Set(max(standBy*u.tokens, m.Tokens.Rate), m.cycle())
	m.Flight.Claimed = true
	m.claim.Begin(Call{Others: int(u.level)}, float64(m.hits))
}

// endCapTrial goes back to the rates because the trial was rejected.
func (m *Machine) endCapTrial() {
	u := &m.under
	if !u.trying {
		return
	}
	m.Calls.Set(u.before.calls, m.cycle())
	if u.before.tokens > 0 {
		m.Tokens.Set(u.before.tokens, m.cycle())
	}
	m.Flight.Claimed = false
	u.trying = false
}
