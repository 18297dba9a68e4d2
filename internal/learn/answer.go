package learn

import "math"

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

// distrust ignores the headers because more is admitted than they leave room for.
func (m *Machine) distrust(now float64) {
	m.trust.Low(now)
	m.note(Decision{At: now, Kind: Verdict, Wait: m.trust.pause, Why: WhyLow})
}

// Heard applies the headers of a call that succeeded, which may be still running.
func (m *Machine) Heard(now float64, c Call, calls, tokens Told) {
	if m.quota.Observe(now, c, 1, calls, tokens, &m.tally) {
		m.note(Decision{At: now, Kind: Verdict, Why: WhyStale})
	}
}

// opened records that a call which left at the moment left was admitted.
func (m *Machine) opened(left float64) {
	m.endSpan(left, m.tally.calls)
	m.Door.Opened(left)
}

// endSpan ends what is measured of a window: the first call that it took when it
// opened again left at the moment left, when so many calls had been admitted.
func (m *Machine) endSpan(left, calls float64) {
	known, headers := m.calm.Settled, m.quota.Known() && !m.trust.Ignored(left)
	counts := m.Calls.On && !m.Door.Outlasted() && (m.spans.Window > 0 || !headers)
	if m.Door.ShutByForeign() { // another limit shut the key for long, if it recurs; or an outage did
		known, counts = math.Inf(1), m.quota.Known() && m.spans.Mostly(left)
	}
	counts = counts && !m.Flight.Claimed && !m.off.Has(WindowRule)
	before := m.spans.Window
	rate := m.spans.Opened(left, calls, float64(m.hits), known, counts)
	if rate == 0 {
		return
	}
	if before == 0 && m.spans.Window > 0 {
		m.note(Decision{At: left, Kind: Verdict, To: m.spans.Window, Why: WhySpan})
	}
	m.noise.Forget()
	m.followWindow(left, rate)
	m.setWindow(m.spans.Window)
}

// followWindow lowers the paces to the rate of a window.
func (m *Machine) followWindow(left, rate float64) {
	if !m.Calls.On { // the headers have paced the calls, by another limit
		m.Calls.Expect(rate, Cycle(rate), false)
		m.note(Decision{At: left, Kind: Cut, Of: OfCalls, To: rate, Why: WhyWindow})
	}
	if rate >= m.Calls.Pace() {
		return
	}
	m.note(Decision{At: left, Kind: Cut, Of: OfCalls, From: m.Calls.Pace(), To: rate, Why: WhyWindow})
	share := rate / m.Calls.Rate
	m.rates.Stop(left, m.Door.rtt)
	m.Calls.Set(rate, Cycle(rate))
	m.rates.Marked(left, rate, false)
	used := rate * m.tally.each() // by calls at that rate; the pace of calls may have been far above what was admitted
	m.Tokens.Set(max(m.Tokens.Rate*share, min(m.Tokens.Rate, used)), Cycle(rate))
}

// setWindow tells the paces, too, the length of the window in which the provider counts; 0: in none.
func (m *Machine) setWindow(seconds float64) {
	m.spans.Window = seconds
	m.Calls.SetSpan(seconds)
	m.Tokens.SetSpan(seconds)
}
