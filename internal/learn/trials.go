package learn

// beginTrials begins the trials of what held before a fall that are due.
func (m *Machine) beginTrials(now float64) {
	if due := m.dueLevel(now); due != nil {
		before := float64(m.InFlight())
		m.Flight.Return(due.Begin(now, m.tally.last.Seq, before))
		m.tryCap(now)
		why := WhyBefore
		if m.higher.Trying(now) {
			why = WhyMore
		}
		m.note(Decision{At: now, Kind: Probe, Of: OfFlight, From: before, To: m.Flight.level, Why: why})
	}
	if m.Calls.On && !m.capTried(now) && m.rates.Due(now) {
		m.tryRates(now)
	}
}

// tryRates begins a trial of the earlier rate of calls, and raises the pace of tokens by the same factor: otherwise it would hold
// back the calls of the trial.
func (m *Machine) tryRates(now float64) {
	before, rate := m.Calls.Pace(), m.Calls.Rate
	m.tokensFrom = m.Tokens.Rate
	m.Calls.Set(m.rates.Begin(now, m.tally.last.Seq, rate), m.cycle())
	m.Tokens.Set(m.Tokens.Rate*max(1, m.Calls.Rate/rate), m.cycle())
	m.note(Decision{At: now, Kind: Probe, Of: OfCalls, From: before, To: m.Calls.Pace(), Why: WhyBefore})
}

// dueLevel is the memory of calls in flight with a trial that is due, if there is one.
func (m *Machine) dueLevel(now float64) *Memory {
	switch {
	case m.levelTried():
	case m.levels.Due(now):
		return &m.levels
	case m.levels.Over(now) && m.Flight.mode == hovering && m.higher.Due(now):
		return &m.higher
	}
	return nil
}

// stopLevels ends the trials of calls in flight, because something else has changed the bound.
func (m *Machine) stopLevels(now float64) {
	m.levels.Stop(now, m.Door.rtt)
	m.higher.Stop(now, m.Door.rtt)
}

// levelTried reports whether a trial of calls in flight runs.
func (m *Machine) levelTried() bool { return m.levels.Trying(m.at) || m.higher.Trying(m.at) }

// failTrials ends the trials to which the refused call belongs, and reports whether there
// are any. Such a refusal measures nothing.
func (m *Machine) failTrials(now float64, c Call) bool {
	rates, higher := m.rates.Tries(c), m.higher.Tries(c)
	levels := higher || m.levels.Tries(c)
	if rates {
		m.failRateTrial(now)
	}
	if levels {
		m.failLevelTrial(now, c, higher)
	}
	return rates || levels
}

func (m *Machine) failRateTrial(now float64) {
	before := m.Calls.Pace()
	m.setPaces(paces{m.rates.Refused(now, m.Door.rtt), m.tokensFrom})
	m.noise.Forget() // a limit that has fallen explains what was refused before
	m.note(Decision{At: now, Kind: Cut, Of: OfCalls, From: before, To: m.Calls.Pace(), Why: WhyNotYet})
}

// failLevelTrial ends the trials of calls in flight. higher is whether more was tried than ever held.
func (m *Machine) failLevelTrial(now float64, c Call, higher bool) {
	before, why := m.InFlight(), WhyNotYet
	if higher {
		why = WhyCap
		m.claim.weighScatter(float64(c.Others) >= clearlyAbove(m.Flight.kept.bound))
	}
	m.stopLevels(now)
	alone := m.Flight.Claimed && m.Flight.kept.mode != hovering && !m.capRate.trying
	m.Flight.Back()
	m.endCapTrial()
	if n := float64(c.Others); alone && n > m.Flight.level {
		m.Flight.hold(n) // the trial has shown that the cap is higher
	}
	m.note(Decision{At: now, Kind: Cut, Of: OfFlight, From: float64(before), To: float64(m.InFlight()), Why: why})
}

// delayTrials keeps what held before a fall for as long as the provider wants no growth.
func (m *Machine) delayTrials(now float64) {
	if m.at >= m.slowBy {
		return
	}
	for _, memory := range [...]*Memory{&m.rates, &m.levels, &m.higher} {
		memory.Rest(min(now, m.slowBy) - m.at)
	}
	if m.capRate.until > 0 {
		m.capRate.until += min(now, m.slowBy) - m.at
	}
	if now >= m.slowBy {
		m.note(Decision{At: now, Kind: Verdict, Why: WhyGrows})
	}
}
