package learn

// Answer is what came of a call that was taken.
type Answer struct {
	Used          float64 // tokens
	InFlight      int     // calls still out
	Calls, Tokens Told    // what the headers say
}

const callWeight = 1.0 / handful // of the newest call: the time and the tokens of a call are smoothed over a handful

// Answered says that a call was taken.
func (m *Machine) Answered(now float64, c Call, a Answer) {
	m.Flight.Tick(now, m.countsForGrowth(now)) // the time until now does not count for a cycle that begins now
	m.overload.Taken()
	m.ended = now
	if m.rates.Taken(now, c) {
		m.rates.pause = 0 // the limit had not fallen: the next fall is likely to be as short
	}
	if holds := m.levels.Taken(now, c); m.higher.Taken(now, c) || holds && !m.marked { // else no limit is known that ended the slow start
		m.Flight.Climb(m.needed())
	}
	m.trust.Taken(now)
	if m.quota.draft.Taken(c, a.Used) {
		m.distrust(now)
	}
	if m.Door.Opens(c.At) {
		m.opened(c.At)
	}
	m.rtt += callWeight * (min(max(tiny, now-c.At), mostTrip) - m.rtt)
	if m.tally.Counts(c) {
		m.Tokens.Return(m.paced(c.Tokens) - a.Used)
		m.tally.Answered(c, a.Used)
		m.quota.Tokens.part.Return(c.Tokens - a.Used)
	}
	m.Heard(now, c, a.Calls, a.Tokens)
	if m.epoch.before(c) {
		before := m.InFlight()
		counted := m.Flight.Starting() && m.Flight.quiet.counted(now-c.At)
		if now >= m.slowBy && !counted && m.Flight.Answered(c.Others, a.InFlight, m.needed()) {
			m.note(Decision{At: now, Kind: Grow, Of: OfFlight, From: float64(before), To: float64(m.InFlight()), Why: WhyRose})
		}
		m.claim.Taken(c.Others)
	}
}

// Heard applies the headers of a call that succeeded, which may be still running.
func (m *Machine) Heard(now float64, c Call, calls, tokens Told) {
	m.observe(now, c, 1, calls, tokens)
}

// observe applies the headers of the response to c. taken is 0 for a refusal, else 1.
func (m *Machine) observe(now float64, c Call, taken float64, calls, tokens Told) {
	stale, anew := m.quota.Observe(now, c, taken, calls, tokens, &m.tally)
	if stale {
		m.note(Decision{At: now, Kind: Verdict, Why: WhyStale})
	}
	if anew {
		m.note(Decision{At: now, Kind: Verdict, Why: WhyAnew})
	}
}

// opened records that a call which left at the moment left was admitted.
func (m *Machine) opened(left float64) {
	m.endSpan(left, m.tally.total.Calls)
	m.Door.Opened(left)
}
