package learn

// Refusal is what a refusal said.
type Refusal struct {
	Asked  float64 // Retry-After in seconds; 0: none
	Names  Limit   // the limit that it names
	Mild   bool    // the service as a whole is full
	Slow   bool    // calls have become more too fast
	Calls  Told
	Tokens Told
}

// Limit is what a refusal names as the limit that refused.
type Limit uint8

// The limits that a refusal can name.
const (
	Unnamed Limit = iota
	CallLimit
	TokenLimit
	FlightLimit
)

func (r *Refusal) asksToWait() bool { return r.Asked > 0 }

// mayBeRate reports whether a rate may have refused the call: it names no other cause.
func (r *Refusal) mayBeRate() bool { return !r.Mild && r.Names != FlightLimit }

// mayBeTokens reports whether a rate of tokens may have refused the call. One that names calls does not: a token rate without a limit
// behind it would be a second rate in series. One that names tokens is also a sign about the call rate: whether the provider counts input
// or output tokens is unknown, and only calls can be delayed.
func (r *Refusal) mayBeTokens() bool { return r.Names != CallLimit }

func (r *Refusal) dropMeters() { r.Calls, r.Tokens = Told{}, Told{} }

// hasMeters reports whether its headers declare any quota.
func (r *Refusal) hasMeters() bool { return r.Calls.Known || r.Tokens.Known }

// showsRoom reports whether its meters, or that of the limit that it names, say that a
// call of so many tokens would have fitted.
func (r *Refusal) showsRoom(tokens float64) bool {
	calls, some := !r.Calls.Known || r.Calls.Remaining >= 1, !r.Tokens.Known || r.Tokens.Remaining >= tokens
	switch r.Names {
	case CallLimit:
		return r.Calls.Known && calls
	case TokenLimit:
		return r.Tokens.Known && some
	case Unnamed, FlightLimit:
	}
	return r.hasMeters() && calls && some
}

// reset is how long it takes until the meter that has too little left for a call of so many tokens is full again; 0: none has.
func (r *Refusal) reset(tokens float64) (seconds float64) {
	if r.Calls.Known && r.Calls.Remaining < 1 {
		seconds = r.Calls.Reset
	}
	if r.Tokens.Known && r.Tokens.Remaining < tokens {
		seconds = max(seconds, r.Tokens.Reset)
	}
	return seconds
}

// Refused says that a call was refused.
func (m *Machine) Refused(now float64, c Call, r Refusal) {
	m.Flight.Tick(now, m.countsForGrowth(now)) // the time until now does not count for a cycle that begins now
	if m.quota.Blind {
		r.dropMeters()
	}
	m.account(now, c, &r)
	tested := m.quota.draft.Refused(now, c, &r)
	if r.Slow {
		m.stopGrowth(now)
	}
	m.readMeters(now, c, &r)
	switch {
	case r.Mild:
		m.answerOverload(now, c, &r)
	case !m.epoch.before(c) && !m.off.Has(EpochRule): // the last decision has answered it
		m.echo(now, c, &r)
	default:
		m.answer(now, c, &r, tested)
	}
}

// readMeters applies the headers of a refusal, and drops them if they are not believed.
func (m *Machine) readMeters(now float64, c Call, r *Refusal) {
	m.observe(now, c, 0, r.Calls, r.Tokens)
	untrue := r.mayBeRate() && r.showsRoom(c.Tokens) && !m.off.Has(TrustRule)
	if untrue && m.trust.Broken(now) {
		m.rememberLastMinute(now, c)
		m.note(Decision{At: now, Kind: Verdict, Wait: m.trust.pause, Why: WhyUntrue})
	}
	if m.trust.Ignored(now) {
		r.dropMeters()
	}
}

// echo waits for what a further refusal of an epoch asks for.
func (m *Machine) echo(now float64, c Call, r *Refusal) {
	if r.asksToWait() && !m.off.Has(GateRule) && m.Door.Echo(now, r.Asked) {
		m.obey(now, r)
	}
	m.waitOutFine(now, c, r)
}

// obey waits as long as a refusal asks.
func (m *Machine) obey(now float64, r *Refusal) {
	if r.asksToWait() && !m.off.Has(GateRule) {
		m.Door.Obey(now, r.Asked, m.speed(), m.luck.Float64())
	}
}

// answer decides what follows from the first refusal of an epoch. tested is whether the call belonged to a test of the headers.
func (m *Machine) answer(now float64, c Call, r *Refusal, tested bool) {
	m.Door.Refused(c.At)
	if !m.marked { // it may have been rejected because of calls that left after it
		c.Others = max(c.Others, min(m.InFlight(), int(m.tally.last.Seq-c.Seq)))
	}
	nothingGotThrough := m.marked && r.Names != FlightLimit && !m.tally.GotThrough(c, now-2*m.Door.rtt)
	if pauseEnded := m.resumed.At > m.spans.shut; !nothingGotThrough && pauseEnded && !m.Door.ShutByForeign() {
		m.endSpan(m.resumed.At, m.resumed.Calls) // the answers of other calls are on their way
	}
	m.spans.Shut(c.At)
	if nothingGotThrough {
		if r.showsRoom(c.Tokens) {
			m.Door.foreign++
		}
		m.keepShut(now, c, r, m.Calls.Rate)
		return
	}
	verdict, measured := m.judge(now, c, r, tested)
	if verdict == isShut {
		m.Door.foreign++
		m.keepShut(now, c, r, m.openRate(c))
		return
	}
	m.Door.Settled()
	if verdict != isRandom {
		m.Door.fines.Begin()
		m.obey(now, r)
		m.waitOutFine(now, c, r)
	}
	switch verdict {
	case isCap:
		m.cutFlight(now, c, r.Names == FlightLimit)
	case isRate:
		m.cutPace(now, c, r, measured)
	case isNothing, isRandom, isShut:
	}
}

// account takes back what the call did not use.
func (m *Machine) account(now float64, c Call, r *Refusal) {
	m.hits++
	if r.asksToWait() && r.mayBeRate() {
		m.foreign.asksUntil = now + remembered
	}
	if !m.tally.Counts(c) {
		return
	}
	m.Door.RefusalTook(now - c.At)
	if r.mayBeRate() {
		m.noise.Hit()
	}
	m.tally.Refused(c)
	m.quota.Refused(c)
	m.Calls.Refund(1)
	m.Tokens.Return(m.paced(c.Tokens))
}

// SlowFor is for how many seconds a provider that calls a ramp too steep wants no growth. Source: OpenAI's guide to rate limits, 2026-07.
const SlowFor = remembered

// stopGrowth has nothing grow for a while.
func (m *Machine) stopGrowth(now float64) {
	if now >= m.slowBy {
		m.note(Decision{At: now, Kind: Verdict, Wait: SlowFor, Why: WhySlow})
	}
	m.slowBy = now + SlowFor
}

// Closed records that the provider has closed the key for longer than any law waits. That measures no rate. A trial that ran
// into it is not repeated soon.
func (m *Machine) Closed(now float64, c Call, slow bool) {
	m.hits++
	m.resumed = Point{}
	m.quota.draft.Refused(now, c, &Refusal{Asked: draftMost})
	if slow {
		m.stopGrowth(now)
	}
	if m.tally.Counts(c) {
		m.tally.Refused(c)
		m.undo(c)
	}
}

// Signal says that a call which left at the moment left was refused further in.
// It halves the calls in flight, once an epoch.
func (m *Machine) Signal(now, left float64) {
	if left > now { // by another clock: about the time of a call ago
		left = now - m.rtt
	}
	if left <= m.epoch.at {
		return
	}
	m.beginEpoch(now)
	m.Flight.Tick(now, m.countsForGrowth(now))
	before := m.InFlight()
	m.stopLevels(now)
	m.Flight.Signal(0.5, float64(before))
	if after := m.InFlight(); after < before {
		m.note(Decision{At: now, Kind: Cut, Of: OfFlight, From: float64(before), To: float64(after), Why: WhySignal})
	}
}

// keepShut handles a refusal when no call has got through since the last decrease. The provider is closed, which is no new
// measurement: rate and mark stay.
func (m *Machine) keepShut(now float64, c Call, r *Refusal, rate float64) {
	m.Calls.Sober()
	m.Tokens.Sober()
	if !m.off.Has(GateRule) {
		m.Door.KeepShut(now, r.Asked, r.reset(c.Tokens), rate, m.luck.Float64())
	}
	m.waitOutFine(now, c, r)
	if m.noCap(c) {
		m.giveUpCap(now, c)
		m.claim.repeats.Forget()
	}
	m.beginEpoch(now)
	m.resumed, m.reopens = Point{}, true
	m.note(Decision{At: now, Kind: Gate, Wait: m.Door.Until - now, Why: WhyStillShut})
}
