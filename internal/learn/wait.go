package learn

// Bound is what holds calls back.
type Bound uint8

// What a machine can be bound by.
const (
	Free Bound = iota
	ByGate
	ByProbe
	ByFlight
	ByCalls
	ByTokens
	ByHeaders
)

// Bound is what held back the call that was asked about last.
func (m *Machine) Bound() Bound { return m.bound }

// Wait is how long until a call of so many tokens may go: 0 now, +Inf when
// only an answer helps. inFlight calls are out.
func (m *Machine) Wait(now, tokens float64, inFlight int) float64 {
	m.unit = tokens
	m.tick(now, false)
	wait := m.wait(now, tokens, inFlight)
	m.due = now + wait
	return wait
}

func (m *Machine) wait(now, tokens float64, inFlight int) float64 {
	m.bound = ByGate
	if now < m.Door.Until {
		return m.Door.Until - now
	}
	if wait, found := m.Door.Probing(now); wait > 0 {
		m.bound = ByProbe
		return wait
	} else if found > 0 {
		m.opened(found)
	}
	if m.reopens && (m.Flight.Claimed || !m.spaces(now)) {
		m.Flight.Reopen(inFlight)
	}
	m.reopens = false
	needed := m.needed()
	if inFlight >= m.Flight.Bound(needed) {
		m.bindBy(ByFlight)
		if m.Flight.Starting() {
			m.Flight.quiet = m.silent(now, inFlight)
		}
		return max(m.Flight.Wait(inFlight, needed), m.slowBy-now)
	}
	if d := m.tally.last.At + m.minGap(inFlight) - now; d > 0 {
		m.bindBy(ByFlight)
		return d
	}
	return m.paceWait(now, tokens, inFlight < m.few)
}

// spaces reports whether a measured rate or headers space the calls.
func (m *Machine) spaces(now float64) bool {
	return m.Calls.On || m.quota.Known() && !m.trust.Ignored(now)
}

// paceWait is how long the headers and the pace hold a call back.
func (m *Machine) paceWait(now, tokens float64, few bool) (wait float64) {
	m.bound = Free
	s := unspent{few && m.Calls.Saves(1), few && m.Tokens.Saves(tokens)}
	q := m.headersWait(now, tokens, s)
	if q.wait > 0 {
		m.bindBy(ByHeaders)
		wait = q.wait
	}
	if d := m.Calls.Wait(1); d > 0 && !q.calls && !s.calls {
		m.bindBy(ByCalls)
		wait = max(wait, d)
	}
	if d := m.Tokens.Wait(m.paced(tokens)); tokens > 0 && d > 0 && !q.tokens && !s.tokens {
		m.Flight.Binding, m.Tokens.Binding = false, true
		if wait == 0 {
			m.Calls.Binding = false
		}
		if d > wait {
			m.bound, wait = ByTokens, d
		}
	}
	if wait > 0 {
		m.heldBack = m.bound == ByCalls
	}
	return wait
}

// headersWait is how long the headers hold a call back, if they are believed. Room that they show lets the pace of calls grow.
func (m *Machine) headersWait(now, tokens float64, s unspent) (q quotaWait) {
	if !m.trust.Ignored(now) {
		q = m.quota.wait(now, tokens, s, &m.tally)
	}
	if d := &m.quota.draft; q.tests {
		m.note(Decision{At: now, Kind: Probe, Of: d.of, From: d.refill, To: d.pace, Why: WhyDraft})
	}
	if q.room && m.spans.Window == 0 && now >= m.noRoomUntil {
		m.Calls.Hasten()
	} else {
		m.Calls.Slow()
	}
	return q
}

// paced is what a call that reserves so many tokens counts for in their pace. An estimate far above what calls usually take is likely
// to be wrong, and the provider decides about the call: it waits for mostPaced or mostExpected at most, and those behind it with it.
func (m *Machine) paced(tokens float64) float64 {
	most := float64(mostPaced)
	if m.Tokens.expected { // it was not measured on smaller calls
		most = mostExpected
	}
	return min(tokens, max(most*m.Tokens.Rate, outlier*m.tally.perCall))
}

// bindBy notes what holds the call back that is asked about. Time counts for the growth of what does.
func (m *Machine) bindBy(b Bound) {
	m.bound = b
	m.setBinding(b)
}

func (m *Machine) setBinding(b Bound) {
	m.Flight.Binding, m.Calls.Binding, m.Tokens.Binding = b == ByFlight, b == ByCalls, b == ByTokens
}

// Slack records that no call waits: no time for growth.
func (m *Machine) Slack(now float64) {
	m.setBinding(Free)
	m.tick(now, true)
}
