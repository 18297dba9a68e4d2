package learn

import (
	"math"
	"math/rand/v2"
)

// Machine is the controller for one limiter. It is not safe for concurrent use.
type Machine struct {
	Flight Flight
	Calls  Pacer
	Tokens Pacer
	Door   Door

	quota       Quota
	tally       Tally
	claim       Claim
	noise       Noise
	foreign     Foreign
	collisions  Collisions
	calm        Calm
	peers       Peers
	spans       Spans
	overload    Overload
	rates       Memory
	levels      Memory
	higher      Memory // than a cap that others share, or that random rejections feign
	capRate     CapRate
	trust       Trust
	rtt         float64  // smoothed round-trip time of a call that was taken, seconds
	largeHits   evidence // refusals of calls that take more tokens than the mean
	noRoomUntil float64  // room in the headers is no reason for a faster pace before: marks agree about a lower rate

	// The last decision, and what has come since.
	epoch     epoch
	resumed   Point   // when the first call left after the last mark or closure, and what had been admitted by then; zero: none has
	reopens   bool    // the next call ends a pause in which nothing was admitted
	marked    bool    // a refusal, of this run or an earlier one, has shown the provider's bucket empty
	firstMark bool    // the first mark of a rate has just been made
	hits      int64   // refusals
	slowBy    float64 // no growth before

	// The last tick.
	at      float64
	due     float64            // when the next one is due, of a process that does not sleep
	slack   bool               // no call has waited since
	factors [waitKinds]float64 // of Retry-Afters

	// The call that was asked about last.
	unit     float64 // its tokens
	bound    Bound   // what held it back
	heldBack bool    // the pace of calls was the last to do so

	few    int // see Config.Few
	off    Rules
	luck   *rand.Rand
	decide func(Decision)
}

// Config is what a machine begins with.
type Config struct {
	Initial, Max float64        // calls in flight
	Blind        bool           // headers are ignored
	CallRate     float64        // calls per second that are known of; 0: none
	TokenRate    float64        // likewise tokens
	CallBurst    float64        // calls that may be sent besides at first, if CallRate is known
	TokenBurst   float64        // likewise tokens
	Few          int            // calls in flight up to which these may be sent
	Share        float64        // of the limit, where others like this machine use the rest; 0 and 1: all of it
	Seed         uint64         // of jitter
	Off          Rules          // left out, to see what they are worth
	Saved        Saved          // what another machine has learned
	Decide       func(Decision) // receives every decision; may be nil
}

// New returns a machine that begins at time 0.
func New(c Config) *Machine {
	m := &Machine{
		Flight: NewFlight(c.Initial, c.Max),
		rtt:    1, epoch: epoch{at: math.Inf(-1)}, few: c.Few, off: c.Off, decide: c.Decide,
		luck: rand.New(rand.NewPCG(c.Seed, 0)), //nolint:gosec // jitter, not a secret
	}
	m.Door = newDoor(c.Off)
	m.factors = [waitKinds]float64{1, 1, 1}
	m.calm = Calm{stretch: 1}
	m.rates = Memory{first: againFirst, rate: true}
	m.levels.first, m.higher.first = levelFirst, levelFirst
	m.quota.Blind, m.quota.off = c.Blind, c.Off
	m.Calls.off, m.Tokens.off = c.Off, c.Off
	m.claim.off = c.Off
	if c.CallRate > 0 {
		m.Calls.Expect(c.CallRate, Cycle(c.CallRate), true)
		m.Calls.Save(c.CallBurst)
	}
	if c.TokenRate > 0 {
		m.Tokens.Expect(c.TokenRate, Cycle(max(c.CallRate, 1)), true)
		m.Tokens.Save(c.TokenBurst)
	}
	if c.Share > 0 && c.Share < 1 {
		m.usePart(c.Share)
	}
	m.restore(&c.Saved)
	return m
}

// Call is one call that was admitted.
type Call struct {
	Seq    int64   // running number
	At     float64 // when it left
	Others int     // in flight at that moment
	Tokens float64 // reserved
	Total  float64 // tokens reserved by then, its own included
}

// epoch is the time since the last decision, which was one for all calls that were out.
type epoch struct {
	at   float64 // when it began
	last int64   // the last call sent by then
}

// before reports whether the call left after the epoch began. Calls of that
// very instant go by their number: a refusal may take no time at all.
func (e epoch) before(c Call) bool { return c.At > e.at || c.At == e.at && c.Seq > e.last }

func (m *Machine) beginEpoch(now float64) { m.epoch = epoch{now, m.tally.last.Seq} }

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

// needed is twice as many calls in flight as the pace takes by Little's law, and two more.
func (m *Machine) needed() float64 {
	if !m.Calls.On || m.off.Has(FollowRule) {
		return 0
	}
	return 2*m.Calls.Pace()*m.rtt + 2
}

// speed is how many calls can be sent per second, by Little's law where only those in flight are bounded.
func (m *Machine) speed() float64 {
	if m.Calls.On {
		return m.Calls.Rate
	}
	return float64(m.InFlight()) / m.rtt
}

// InFlight is how many calls may be in flight.
func (m *Machine) InFlight() int { return m.Flight.Bound(m.needed()) }

// Bound is what held back the call that was asked about last.
func (m *Machine) Bound() Bound { return m.bound }

// tick brings everything up to now.
func (m *Machine) tick(now float64, slack bool) {
	open := now >= m.Door.Until
	if m.Door.Stuck() || m.Door.ShutByForeign() {
		m.tally.dark += now - m.at
	}
	m.delayTrials(now)
	m.noteChanges(now)
	m.at = now
	idle := m.slack && !m.Door.Shut() // since the last tick
	counts := m.countsForGrowth(now)
	m.slack = slack
	m.Calls.Turns, m.Tokens.Turns = m.Tokens.On, m.Tokens.On
	m.Calls.OneByOne = !m.quota.Calls.Known || m.trust.Ignored(now)
	m.Flight.Tick(now, counts)
	m.tickPacer(now, &m.Calls, OfCalls, 1, open, counts, idle)
	m.tickPacer(now, &m.Tokens, OfTokens, m.paced(m.unit), open, counts, idle)
	if m.grows(now) && !slack && !m.off.Has(MemoryRule) {
		m.beginTrials(now)
	}
	if w := m.spans.Window; w > 0 && m.Calls.Outlasts(w) { // it would have been used up
		m.setWindow(0)
		m.note(Decision{At: now, Kind: Verdict, From: w, Why: WhyNoSpan})
	}
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

// bindBy notes what holds the call back that is asked about. Time counts for the growth of what does.
func (m *Machine) bindBy(b Bound) {
	m.bound = b
	m.setBinding(b)
}

func (m *Machine) setBinding(b Bound) {
	m.Flight.Binding, m.Calls.Binding, m.Tokens.Binding = b == ByFlight, b == ByCalls, b == ByTokens
}

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
	s := unspent{few && m.Calls.Saves(1), few && m.Tokens.Saves(m.paced(tokens))}
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
// to be wrong, and the provider decides about the call: it waits for some minutes at most, and those behind it with it.
func (m *Machine) paced(tokens float64) float64 {
	return min(tokens, max(mostPaced*m.Tokens.Rate, outlier*m.tally.perCall))
}

// Slack records that no call waits: no time for growth.
func (m *Machine) Slack(now float64) {
	m.setBinding(Free)
	m.tick(now, true)
}

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

// Before says that c, and the calls between the one before and it, left before there
// was anything to learn from.
func (m *Machine) Before(c Call) {
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
