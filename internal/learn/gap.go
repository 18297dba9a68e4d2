package learn

// minGap is how many seconds after the call before it a call leaves that is above what has held, under a cap that no refusal has
// named: half of the time between two answers. A rate would refuse calls that leave together, and look like a cap.
func (m *Machine) minGap(inFlight int) float64 {
	above := float64(inFlight) >= m.heldLevel() && (m.Flight.mode != hovering || m.levelTried())
	feigned := m.Flight.Claimed && !m.claim.Named(m.at) && !m.Calls.On // a rate may feign the cap
	if !above || !feigned {
		return 0
	}
	return 0.5 * m.rtt / float64(inFlight+1)
}

// heldLevel is the level of calls in flight that has held: during a trial, the one from which it began.
func (m *Machine) heldLevel() float64 {
	if m.levelTried() {
		return m.Flight.kept.bound
	}
	return m.Flight.level
}
