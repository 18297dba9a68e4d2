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

	quota     Quota
	tally     Tally
	claim     Claim
	noise     Noise
	calm      Calm
	spans     Spans
	overload  Overload
	rates     Memory
	levels    Memory
	higher    Memory // than a cap that others share, or that random rejections feign
	under     Under
	trust     Trust
	rate      Rate    // what the refusal that is judged measures
	drafted   bool    // it belongs to a try of Overdraft
	elsewhere int64   // the last refused call that was not about our rate
	labelled  float64 // until then, refusals of the rate are known to say for how long
	hits      int64
	cut       float64        // when the last epoch began
	cutBy     int64          // the last call sent by then
	resumed   Point          // when the first call left after that, and what had been admitted by then; zero: none has
	slowBy    float64        // no growth before
	factors   [waits]float64 // of Retry-Afters, at the last tick
	reopens   bool           // the next call ends a pause in which nothing was admitted
	dark      float64        // seconds since the mark during which no call was admitted
	at        float64        // the last tick
	due       float64        // the next one, of a process that does not sleep
	knows     bool           // a refusal, of this run or an earlier one, has marked the provider's bucket as empty
	first     bool           // the first mark has just been made
	trip      float64        // smoothed time of a call that was taken, seconds
	unit      float64        // tokens of the call that was asked about last
	few       int            // see Config.Few
	slack     bool           // no call has waited since the last tick
	spaced    bool           // the pace of calls was the last to hold back the next call
	large     int            // refused calls above the mean of tokens, less others
	bound     Bound
	off       Rules
	luck      *rand.Rand
	decide    func(Decision)
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
		trip:   1, cut: math.Inf(-1), few: c.Few, off: c.Off, decide: c.Decide,
		luck: rand.New(rand.NewPCG(c.Seed, 0)), //nolint:gosec // jitter, not a secret
	}
	m.Door = newDoor(c.Off)
	m.factors = [waits]float64{1, 1, 1}
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
		m.sharing(c.Share)
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

// after reports whether the call left after the last epoch began. Calls of that
// very instant go by their number: a refusal may take no time at all.
func (m *Machine) after(c Call) bool {
	return c.At > m.cut || c.At == m.cut && c.Seq > m.cutBy
}

// epoch begins an epoch: one decision for all calls that are out.
func (m *Machine) epoch(now float64) { m.cut, m.cutBy = now, m.tally.last.Seq }

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
	return 2*m.Calls.Pace()*m.trip + 2
}

// speed is how many calls can be sent per second, by Little's law where only those in flight are bounded.
func (m *Machine) speed() float64 {
	if m.Calls.On {
		return m.Calls.Rate
	}
	return float64(m.InFlight()) / m.trip
}

// InFlight is how many calls may be in flight.
func (m *Machine) InFlight() int { return m.Flight.Bound(m.needed()) }

// Bound is what held back the call that was asked about last.
func (m *Machine) Bound() Bound { return m.bound }

// tick brings everything up to now.
func (m *Machine) tick(now float64, slack bool) {
	open := now >= m.Door.Until
	if m.Door.Stuck() || m.Door.Alien() {
		m.dark += now - m.at
	}
	m.rest(now)
	m.report(now)
	m.at = now
	idle := m.slack && !m.Door.Shut() // since the last tick
	grow := open && !m.Door.Stuck() && now >= m.slowBy
	held := grow && now <= m.due+interruption // later, the process has slept
	m.slack = slack
	m.Calls.Turns, m.Tokens.Turns = m.Tokens.On, m.Tokens.On
	m.Calls.Spaced = !m.quota.Calls.Known || m.trust.Ignored(now)
	m.Flight.Tick(now, held)
	m.pace(now, &m.Calls, OfCalls, 1, open, held, idle)
	m.pace(now, &m.Tokens, OfTokens, m.paced(m.unit), open, held, idle)
	if grow && !slack && !m.off.Has(MemoryRule) {
		m.retry(now)
	}
	if w := m.spans.Window; w > 0 && m.Calls.Outlasts(w) { // it would have been used up
		m.setWindow(0)
		m.note(Decision{At: now, Kind: Verdict, From: w, Why: WhyNoSpan})
	}
}

// rest keeps what held before a fall for as long as the provider wants no growth.
func (m *Machine) rest(now float64) {
	if m.at >= m.slowBy {
		return
	}
	for _, memory := range [...]*Memory{&m.rates, &m.levels, &m.higher} {
		memory.Rest(min(now, m.slowBy) - m.at)
	}
	if m.under.until > 0 {
		m.under.until += min(now, m.slowBy) - m.at
	}
	if now >= m.slowBy {
		m.note(Decision{At: now, Kind: Verdict, Why: WhyGrows})
	}
}

// report notes what is believed again of headers and of Retry-Afters since the last tick, and no more of other processes.
func (m *Machine) report(now float64) {
	if m.trust.Ignored(m.at) && !m.trust.Ignored(now) {
		if m.trust.low && m.quota.exceeded(now, &m.tally) {
			m.distrust(now)
		} else {
			m.note(Decision{At: now, Kind: Verdict, Why: WhyTrue})
		}
	}
	if m.calm.Ends(now) {
		m.note(Decision{At: now, Kind: Verdict, Why: WhyAlone})
	}
	for i := range m.factors {
		if before, factor := m.factors[i], m.Door.truths[i].mul(); factor != before {
			m.factors[i] = factor
			m.note(Decision{At: now, Kind: Verdict, From: before, To: factor, Why: WhyFactor})
		}
	}
}

// retry begins the trials of what held before a fall that are due.
func (m *Machine) retry(now float64) {
	if due := m.dueLevel(now); due != nil {
		before := float64(m.InFlight())
		m.Flight.Return(due.Begin(m.tally.last.Seq, before))
		m.triesCap(now)
		why := WhyBefore
		if m.higher.Trying(now) {
			why = WhyMore
		}
		m.note(Decision{At: now, Kind: Probe, Of: OfFlight, From: before, To: m.Flight.level, Why: why})
	}
	if m.Calls.On && !m.capTried(now) && m.rates.Due(now) {
		before := m.Calls.Pace()
		m.Calls.Set(m.rates.Begin(m.tally.last.Seq, m.Calls.Rate), m.cycle())
		m.note(Decision{At: now, Kind: Probe, Of: OfCalls, From: before, To: m.Calls.Pace(), Why: WhyBefore})
	}
}

// dueLevel is the memory of calls in flight whose trial is due, if there is one.
func (m *Machine) dueLevel(now float64) *Memory {
	switch {
	case m.levelTried():
	case m.levels.Due(now):
		return &m.levels
	case m.levels.next == 0 && m.Flight.mode == hovering && m.higher.Due(now):
		return &m.higher
	}
	return nil
}

// stopLevels ends the trials of calls in flight, because something else has changed the bound.
func (m *Machine) stopLevels(now float64) {
	m.levels.Stop(now)
	m.higher.Stop(now)
}

// retried ends the trials to which the refused call belongs, and reports whether there
// are any. Such a refusal measures nothing.
func (m *Machine) retried(now float64, c Call) bool {
	rates, higher := m.rates.Tries(c), m.higher.Tries(c)
	levels := higher || m.levels.Tries(c)
	if rates {
		before := m.Calls.Pace()
		m.Calls.Set(m.rates.Refused(now), m.cycle())
		m.noise.Forget() // a limit that has fallen explains what was refused before
		m.note(Decision{At: now, Kind: Cut, Of: OfCalls, From: before, To: m.Calls.Pace(), Why: WhyNotYet})
	}
	if levels {
		before, why := m.InFlight(), WhyNotYet
		if higher {
			why = WhyCap
			m.claim.scatters(float64(c.Others) >= clearlyAbove(m.Flight.kept.bound))
		}
		m.stopLevels(now)
		alone := m.Flight.Claimed && m.Flight.kept.mode != hovering && m.under.before == (paces{})
		m.Flight.Back()
		m.givesCapUp()
		switch n := float64(c.Others); {
		case alone && n > m.Flight.level:
			m.Flight.hold(n) // the trial has shown that the cap is higher
		case higher && m.Flight.Reached(n):
			m.higher.Explores(now, 2*m.Flight.bound)
		}
		m.note(Decision{At: now, Kind: Cut, Of: OfFlight, From: float64(before), To: float64(m.InFlight()), Why: why})
	}
	return rates || levels
}

// pace advances a pacer to now and reports when it begins to try more.
func (m *Machine) pace(now float64, p *Pacer, of Value, unit float64, open, grow, idle bool) {
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

// binding says which of the bounds that are probed for growth it was, if any.
func (m *Machine) binding(flight, calls bool) {
	m.Flight.Binding, m.Calls.Binding, m.Tokens.Binding = flight, calls, false
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
	if m.reopens && (m.Flight.Claimed || !m.Calls.On) && m.claim.sent < newFor {
		m.Flight.Reopen(inFlight)
	}
	m.reopens = false
	needed := m.needed()
	if inFlight >= m.Flight.Bound(needed) {
		m.binding(true, false)
		if m.Flight.Starting() {
			m.Flight.quiet = m.silent(now, inFlight)
		}
		m.bound = ByFlight
		return max(m.Flight.Wait(inFlight, needed), m.slowBy-now)
	}
	if d := m.tally.last.At + m.apart(inFlight) - now; d > 0 {
		m.binding(true, false)
		m.bound = ByFlight
		return d
	}
	return m.paceWait(now, tokens, inFlight < m.few)
}

// paceWait is how long the headers and the pace hold a call back.
func (m *Machine) paceWait(now, tokens float64, few bool) (wait float64) {
	m.bound = Free
	var q quotaWait
	m.quota.Calls.soon, m.quota.Tokens.soon = few && m.Calls.Saves(1), few && m.Tokens.Saves(m.paced(tokens))
	if !m.trust.Ignored(now) {
		q = m.quota.wait(now, tokens, &m.tally)
	}
	if d := &m.quota.draft; q.tries {
		m.note(Decision{At: now, Kind: Probe, Of: d.of, From: d.refill, To: d.pace, Why: WhyDraft})
	}
	if q.wait > 0 {
		m.binding(false, false)
		m.bound, wait = ByHeaders, q.wait
	}
	if q.room && m.spans.Window == 0 {
		m.Calls.Hasten()
	} else {
		m.Calls.Slow()
	}
	if d := m.Calls.Wait(1); d > 0 && !q.calls && !m.quota.Calls.soon {
		m.binding(false, true)
		m.bound, wait = ByCalls, max(wait, d)
	}
	if d := m.Tokens.Wait(m.paced(tokens)); tokens > 0 && d > 0 && !q.tokens && !m.quota.Tokens.soon {
		m.Flight.Binding, m.Tokens.Binding = false, true
		if wait == 0 {
			m.Calls.Binding = false
		}
		if d > wait {
			m.bound, wait = ByTokens, d
		}
	}
	if wait > 0 {
		m.spaced = m.bound == ByCalls
	}
	return wait
}

// paced is what a call that reserves so many tokens counts for in their pace. An estimate far above what calls usually take is likely
// to be wrong, and the provider decides about the call: it waits for some minutes at most, and those behind it with it.
func (m *Machine) paced(tokens float64) float64 {
	return min(tokens, max(mostPaced*m.Tokens.Rate, outlier*m.tally.perCall))
}

// Slack records that no call waits: no time for growth.
func (m *Machine) Slack(now float64) {
	m.binding(false, false)
	m.tick(now, true)
}

// Sent says that a call has left.
func (m *Machine) Sent(c Call) {
	if m.Door.Sent(c.At) {
		m.note(Decision{At: c.At, Kind: Probe, Of: OfFlight, From: 0, To: 1, Wait: m.Door.hears(), Why: WhyProbe})
	}
	if m.resumed.At == 0 && c.At > m.cut {
		m.resumed = Point{At: c.At, Calls: m.tally.calls}
	}
	if m.first && c.At > m.cut+m.Door.Hears() {
		m.reconsider(c)
	}
	m.claim.Sent(c)
	if m.noise.Sent(c.At) {
		m.note(Decision{At: c.At, Kind: Verdict, Why: WhyNoNoise})
	}
	m.Calls.Take(1)
	m.Tokens.Take(m.paced(c.Tokens))
	m.tally.Sent(c)
	if m.spaced {
		m.tally.fates.Spaced(c.Seq)
		m.spaced = false
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
	m.Calls.Return(1)
	m.Tokens.Return(m.paced(c.Tokens))
	m.tally.Refused(c)
	m.quota.Unsent(c)
}
