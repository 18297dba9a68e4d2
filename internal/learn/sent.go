package learn

// Sent says that a call has left.
func (m *Machine) Sent(c Call) {
	if m.Door.Sent(c.At) {
		m.note(Decision{At: c.At, Kind: Probe, Of: OfFlight, From: 0, To: 1, Wait: m.Door.probeTimeout(), Why: WhyProbe})
	}
	if m.resumed.At == 0 && c.At > m.epoch.at {
		m.resumed = Point{At: c.At, Calls: m.tally.total.Calls}
	}
	if m.firstMark && c.At > m.epoch.at+m.Door.RefusalTimeout() {
		m.correctFirstMark(c)
	}
	m.claim.Sent(c)
	m.foreign.Sent()
	m.collisions.Sent()
	if m.noise.Sent(c.At) {
		m.note(Decision{At: c.At, Kind: Verdict, Why: WhyNoNoise})
	}
	m.Calls.Take(1)
	m.Tokens.Take(m.paced(c.Tokens))
	m.tally.Sent(c)
	if m.heldBack {
		m.tally.fates.HeldBack(c.Seq)
		m.heldBack = false
	}
	m.quota.Sent(c)
	m.spans.Sent(c.At)
}

const beforeApart = rarestProbe // seconds without a call before there was a machine: longer than calls usually take, and nothing held one back

// Before says that c, and the calls between the one before and it, left before there
// was anything to learn from.
func (m *Machine) Before(c Call) {
	if c.At-m.tally.last.At > beforeApart {
		m.tally.Restart(c.At)
	}
	m.tally.Sent(c)
	m.quota.Sent(c)
	m.spans.Sent(c.At)
}

// Unsent says that a call was not sent after all.
func (m *Machine) Unsent(c Call) {
	if !m.tally.Counts(c) {
		return
	}
	m.tally.Unsent(c)
	m.undo(c)
}

// undo gives back what the call c has taken from the paces and the quota.
func (m *Machine) undo(c Call) {
	m.Calls.Return(1)
	m.Tokens.Return(m.paced(c.Tokens))
	m.quota.Unsent(c)
	m.Door.Unsent(c.At)
}
