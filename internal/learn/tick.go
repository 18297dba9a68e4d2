package learn

// tick brings everything up to now.
func (m *Machine) tick(now float64, slack bool) {
	open := now >= m.Door.Until
	if m.Door.Stuck() || m.Door.ShutByForeign() {
		m.tally.dark += now - m.at
	}
	m.delayTrials(now)
	m.noteChanges(now)
	before := m.at
	m.at = now
	idle := m.slack && !m.Door.Shut() // since the last tick
	counts := m.countsForGrowth(now)
	if m.slack {
		m.rest(now, now-before, max(0, now-max(before, m.Door.Until)))
	}
	m.slack = slack
	m.Calls.Turns, m.Tokens.Turns = m.Tokens.On, m.Tokens.On
	m.Calls.OneByOne = !m.quota.Calls.Known || m.trust.Ignored(now)
	m.Flight.Tick(now, counts)
	m.Tokens.each = m.Tokens.Rate / max(leastRate, m.Calls.Rate)
	rising := m.Calls.Rising()
	m.tickPacer(now, &m.Calls, OfCalls, 1, open, counts, idle)
	rose := !rising && m.Calls.Rising()
	m.tickPacer(now, &m.Tokens, OfTokens, m.paced(m.unit), open, counts, idle)
	if m.grows(now) && !slack && !m.off.Has(MemoryRule) {
		m.beginTrials(now)
	}
	if w := m.spans.Window; w > 0 && (m.Calls.Outlasts(w) || rose && m.spans.NoteRise(now)) { // it would have been used up
		m.setWindow(0)
		m.note(Decision{At: now, Kind: Verdict, From: w, Why: WhyNoSpan})
	}
}

// rest takes in that no call has waited for some seconds, in so many of which the gate was open.
func (m *Machine) rest(now, seconds, open float64) {
	if seconds > interruption {
		m.quota.Calls.Rest()
		m.restUnmeasured(now)
	}
	onItsWay := m.resumed.At > m.spans.shut && now < m.resumed.At+rarestProbe // a call that may have found the provider open
	if open > interruption && !onItsWay {
		m.spans.Rest(now)
	}
	m.unused += open
}

// grows reports whether more may be tried now.
func (m *Machine) grows(now float64) bool {
	return now >= m.Door.Until && !m.Door.Stuck() && now >= m.slowBy
}

// countsForGrowth reports whether the time since the last tick counts for growth. It does not if the process has slept.
func (m *Machine) countsForGrowth(now float64) bool { return m.grows(now) && now <= m.due+interruption }

// noteChanges reports which beliefs about headers, Retry-Afters and other processes have changed since the last tick.
func (m *Machine) noteChanges(now float64) {
	if m.trust.Ignored(m.at) && !m.trust.Ignored(now) {
		if m.trust.tooLow && m.quota.exceeded(now, &m.tally) {
			m.distrust(now)
		} else {
			m.note(Decision{At: now, Kind: Verdict, Why: WhyTrue})
		}
	}
	if m.noRoomUntil > 0 && now >= m.noRoomUntil {
		m.setNoRoom(now, 0)
	}
	if m.peers.Expire(now) {
		m.note(Decision{At: now, Kind: Verdict, Why: WhyAlone})
	}
	for i := range m.factors {
		if before, factor := m.factors[i], m.Door.truths[i].mul(); factor != before {
			m.factors[i] = factor
			m.note(Decision{At: now, Kind: Verdict, From: before, To: factor, Why: WhyFactor})
		}
	}
}

// tickPacer advances a pacer to now and reports when it begins to try more.
func (m *Machine) tickPacer(now float64, p *Pacer, of Value, unit float64, open, grow, idle bool) {
	before, rising := p.Next(), p.Rising()
	p.Tick(now, open, grow, idle, unit)
	switch {
	case !p.On || m.decide == nil:
	case p.Rising() && !rising:
		m.note(Decision{At: now, Kind: Grow, Of: of, From: p.Rate, To: p.Pace(), Why: WhyRose})
	case before > 0 && p.Next() == 0:
		m.note(Decision{At: now, Kind: Probe, Of: of, From: p.Rate, To: p.Pace(), Why: WhyMore})
	}
}
