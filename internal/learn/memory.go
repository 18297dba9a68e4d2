package learn

// Memory keeps what held before a fall, a rate or a bound on the calls in flight,
// and says when to try it again: after an outage it holds as before. A limit
// that really fell rejects the trials, which become rare and end.
type Memory struct {
	first     float64 // seconds from a fall to the first trial, at most
	rate      bool    // a rate per second is kept
	endless   bool    // the trials go on for ever
	held      float64 // what held before the fall
	until     float64 // trials end; if they are endless, the one that runs
	next      float64 // when the next one is; 0: nothing has fallen
	pause     float64 // seconds before it, longer each time, also from one fall to the next
	succeeded float64 // when a trial did last

	trying bool    // a trial runs
	before int64   // the last call sent before it
	from   float64 // what the trial began from
	taken  int
}

const memoryFell = 0.7 // of what held: below it, a rate or a level has fallen; the families of providers

const rarestTrial = 0.5 * remembered // seconds from one trial to the next, at most: what fell may come back

const cheapLonger = 1.0 / several // of the pause before a cheap trial: the next pause is longer by so much

const (
	trialTaken = 2 * handful  // calls of a trial that are taken, twice what a bucket may have held: what held before holds again
	stillHolds = backOff      // of what held: it holds with no less than that
	levelFirst = interruption // seconds from the fall of a bound on the calls in flight to the first trial
	namedFirst = againFirst   // likewise of more than a cap that rejections name
)

// Marked notes what was measured. Marks that agree are what holds.
func (m *Memory) Marked(now, value float64, agreed bool) {
	switch {
	case agreed && (value >= stillHolds*m.held || now >= m.until):
		m.held, m.next, m.pause = value, 0, 0
	case value >= stillHolds*m.held:
		m.next = 0
	case (m.next == 0 || now >= m.until) && value < memoryFell*m.held:
		m.fell(now, m.soon(now, value))
	}
}

// soon is how long after a fall to a value what held is first tried. The trial of a rate costs about one call, which may be
// probeShare of what is sent until then. But after a trial that has just succeeded without holding, room for a few calls proves nothing.
func (m *Memory) soon(now, value float64) float64 {
	if !m.rate || now-m.succeeded < m.first {
		return m.first
	}
	return min(m.first, max(interruption, 1/(probeShare*value)))
}

// Held records what was admitted for some time, although marks did not agree about it. It replaces what has been tried for long enough.
func (m *Memory) Held(now, value float64) {
	switch {
	case m.next == 0:
		m.held = max(m.held, value)
	case now >= m.until:
		m.held, m.next, m.pause = value, 0, 0
	}
}

// Fell records that what held is abandoned for now, although nothing was measured.
func (m *Memory) Fell(now, held float64) {
	if m.next == 0 || now >= m.until {
		m.held = held
		m.fell(now, m.first)
	}
}

// Explores has more than ever held tried, and begins the pauses between trials anew if there are none.
func (m *Memory) Explores(now, more float64) {
	if now >= m.until { // no trial has begun for long
		m.pause = 0
	}
	if m.next == 0 || now >= m.until {
		m.fell(now, m.first)
	}
	m.held = more
}

func (m *Memory) fell(now, first float64) {
	if m.next == 0 && now-m.succeeded > m.pause {
		m.pause = 0
	}
	m.trying, m.until = false, now+remembered
	m.postpone(now, first)
}

func (m *Memory) postpone(now, first float64) {
	longer := m.pause
	if first < m.first { // the trial is cheap
		longer *= cheapLonger
	}
	m.pause = min(rarestTrial, max(first, m.pause+longer))
	m.next = now + m.pause
}

// Rest has some seconds in which no trial may begin not count.
func (m *Memory) Rest(seconds float64) {
	m.until += seconds
	if m.next > 0 {
		m.next += seconds
	}
}

// Trying reports whether a trial runs.
func (m *Memory) Trying(now float64) bool { return m.trying && now < m.until }

// Over reports whether no trial is to come.
func (m *Memory) Over(now float64) bool { return m.next == 0 || now >= m.until && !m.endless }

// Due reports whether it is time to begin a trial.
func (m *Memory) Due(now float64) bool {
	return !m.Over(now) && !m.Trying(now) && now >= m.next
}

// Begin begins a trial with the calls after newest, and returns what to try.
func (m *Memory) Begin(now float64, newest int64, from float64) (held float64) {
	if m.endless {
		m.until = now + remembered
	}
	m.trying, m.before, m.from, m.taken = true, newest, from, 0
	return m.held
}

// Tries reports whether the call belongs to the trial.
func (m *Memory) Tries(c Call) bool { return m.trying && c.Seq > m.before && c.At < m.until }

// Taken notes that a call was taken. A trial succeeds with trialTaken of its calls.
func (m *Memory) Taken(now float64, c Call) (holds bool) {
	if !m.Tries(c) {
		return false
	}
	if m.taken++; m.taken == trialTaken {
		m.trying, m.next, m.succeeded = false, 0, now
		return true
	}
	return false
}

// Stop ends a trial because something else has changed the bound. See Refused.
func (m *Memory) Stop(now, rtt float64) {
	if m.trying {
		m.Refused(now, rtt)
	}
}

// Refused notes that a call of the trial was refused, which ends the trial, and returns the value from which it began. rtt is how
// many seconds it takes until a rejection is received: the calls that leave meanwhile at a rate that is tried are rejected, too.
func (m *Memory) Refused(now, rtt float64) (from float64) {
	m.trying = false
	cost := 1.0 // calls
	if m.rate {
		cost += rtt * m.held
	}
	m.postpone(now, min(m.first, cost*m.soon(now, m.from)))
	return m.from
}

const unmeasured = rarestProbe // seconds: what headers or a cap have let through in them has held, although no refusal has measured it

// rememberLevel notes that a cap has moved. One that others share moves by itself.
func (m *Machine) rememberLevel(now, before, after float64, named bool) {
	hovers := m.Flight.mode == hovering
	if hovers && !m.Flight.part {
		m.higher.first = levelFirst
		if named { // no other cause feigns it
			m.higher.first = namedFirst
		}
		m.higher.Explores(now, 2*after)
	}
	switch shared := hovers && after > hoverKept*m.levels.held; {
	case shared:
		m.levels = Memory{first: levelFirst}
	case m.levels.held == 0 && after < memoryFell*before:
		m.levels.Fell(now, before)
	default:
		m.levels.Marked(now, after, m.Flight.Agreed())
	}
}

// rememberAdmitted notes what was admitted in the span before the refused call c, if it was so much for so long that this is the rate,
// whether or not marks agree: they hardly ever do where errors come and go. At the first mark, a full bucket may have helped.
func (m *Machine) rememberAdmitted(now float64, c Call, span float64) {
	if m.Calls.marks <= 1 || m.spans.Window > 0 || span < heldFor {
		return
	}
	if got := m.tally.since(c, span).Calls; got >= recent {
		m.rates.Held(now, got/span)
	}
}

// rememberLastMinute notes what was let through in the minute before the refused call c, because no mark measures it: headers or a cap
// held calls back, or nothing did. In the first minute, a full bucket may have helped.
func (m *Machine) rememberLastMinute(now float64, c Call) {
	if now-m.tally.start < unmeasured {
		return
	}
	m.rates.Held(now, m.tally.since(c, unmeasured).Calls/unmeasured)
}
