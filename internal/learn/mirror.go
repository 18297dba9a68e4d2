package learn

// Told is what one response declared about a unit: in units and seconds.
type Told struct {
	Known            bool
	Limit, Remaining float64
	Reset            float64 // until Remaining is back at Limit
}

// Mirror estimates what the provider has left of one unit, from what its
// answers say and what we have sent since. It knows two kinds of provider: one that
// refills all the time, and one that counts in windows and says when these turn.
type Mirror struct {
	Known bool
	Seq   int64 // of the call with the newest answer

	kind     float64 // the limit about which the following is known
	differs  int     // answers in a row that declare another one
	heard    float64 // when it left
	at       float64 // as of when
	left     float64 // then, with it taken
	limit    float64
	full     float64 // what is left at most
	refill   float64 // units per second
	holds    bool    // the limit is what the bucket holds
	refilled bool    // and the rate has been seen
	lost     float64 // what a full bucket could not take since the call Seq
	lostAt   int64   // the last call sent by then
	others   Others
	turn     Turn
	made     float64 // our own use since the call Seq that a turn has made up for
	last     float64 // when the last call left
	due      float64 // after a pause in demand: when the next unit was due, at an even rate; 0: all of the pause has been made up for
	next     float64 // what due becomes if the call that was asked about is sent
	shared   float64 // when the call left whose answer showed last that others use the window, too; 0: none has
	begun    float64 // when the window began in which it left
	used     float64 // what has been sent in that window
	part     Part
}

const spare = 2 // calls' worth that are left for other callers

const (
	quick        = firstTrip   // seconds: a bucket that fills so fast has changed before a rejection is received, so that what it holds cannot be used
	resetError   = ownBurst    // seconds by which a reset may be wrong: no less than a timer is late
	oursLeast    = rare        // of what comes in, that is ours whatever others take
	pressed      = climbBy     // of what others take, taken from them: otherwise the process that came first would keep its part
	pressedMost  = enough      // times our part: more of what others take does not count, so that many processes do not demand far more than comes in
	missingLeast = enough      // calls' worth that are missing from a bucket: the rate can be measured
	overtakes    = rarestProbe // seconds after a window has turned, at most, in which an answer may be about the one before
	fillsBy      = several     // times what an empty bucket takes to fill: others take from it, too
)

// Sent notes a call.
func (m *Mirror) Sent(now, n float64) {
	m.last = now
	m.due, m.next = m.next, 0
	if begins := m.turn.begins(now); begins > m.begun+0.5*m.turn.span {
		m.begun, m.used = begins, 0
	}
	m.used += n
}

// Rest notes that demand has paused.
func (m *Mirror) Rest() {
	if m.due == 0 {
		m.due = m.last
	}
}

// Observe applies what the answer to the call seq declared, which left at the moment at. own is what we have used since the
// call m.Seq, this one included; taken is the share of this call, 0 if it was refused. It reports
// whether the bucket is learned anew.
func (m *Mirror) Observe(seq int64, at, own, taken float64, t Told) (anew bool) {
	before := m.refill
	anew = m.follow(t.Limit)
	m.turn.Observe(at, t.Reset)
	m.NoteFull(taken, t)
	m.limit, m.heard, m.Seq = t.Limit, at, seq
	m.learnRefill(&t, taken)
	if anew { // others are taken to use the same share
		m.others.Rate *= m.refill / before
	}
	m.full = min(t.Limit, max(1, t.Remaining+t.Reset*m.refill))
	m.part.Observe(at, m.refill, &t, taken)
	if seq > m.lostAt {
		m.lost = 0
	}
	if ours := m.used + spare; m.turn.Windowed() && at > m.begun+min(windowShare*m.turn.span, overtakes) && t.Limit-t.Remaining > ours {
		m.shared = at
	}
	if !m.Known || m.turn.Windowed() {
		m.Known, m.at, m.left, m.made = true, at, t.Remaining, 0
		m.others.Begin(at, t.Remaining)
		return anew
	}
	left := m.left + m.net()*(at-m.at) - own
	spilt := left - (m.full - taken)                                // it was full before the call
	m.lost = max(0, m.lost-max(0, spilt))                           // the rest has been lost since this call
	left = min(max(left-max(0, spilt), t.Remaining), t.Remaining+1) // which is rounded down
	m.at, m.left = at, left
	m.others.Observe(at, left, own, m.refill, max(1, taken), spilt > 0)
	return anew
}

// follow takes in the limit that the newest answer declares. One that has clearly changed may be of another kind, so that the bucket is
// learned anew, which follow reports. A few answers with another limit may be about another quota, such as that of another model.
func (m *Mirror) follow(limit float64) (anew bool) {
	switch {
	case alike(limit, m.kind):
		m.differs = 0
		return false
	case m.kind > 0:
		if m.differs++; m.differs < handful {
			return false
		}
		anew = true
	}
	m.kind, m.differs, m.refill = limit, 0, 0
	m.Known, m.holds, m.refilled = false, false, false
	return anew
}

// Expire notes an answer that declares nothing, to a call that left at the moment at, and reports whether nothing is known any
// more because of it: none has declared anything for long.
func (m *Mirror) Expire(at float64) bool {
	if !m.Known || at < m.heard+remembered {
		return false
	}
	m.Known, m.others = false, Others{}
	return true
}

// NoteFull notes that the limit is what the bucket holds, if an answer shows it full. Answers
// that overtake each other show it, too, if they are about the same limit.
func (m *Mirror) NoteFull(taken float64, t Told) {
	m.holds = m.holds || t.Known && alike(t.Limit, m.kind) && t.Remaining+taken >= t.Limit-1
}

// learnRefill learns the rate at which the bucket refills, in units per second.
// The limit is either what the bucket holds, which shows when it is seen full,
// or what may go in a minute.
func (m *Mirror) learnRefill(t *Told, taken float64) {
	missing := t.Limit - t.Remaining
	switch {
	case !m.holds:
		m.refill = (t.Limit - 0.5) / minute // Limit is rounded to a whole number
		if t.Reset > 0 {                    // in which at least what this call took comes in
			m.refill = max(m.refill, min((t.Limit+0.5)/minute, taken/(t.Reset+resetError)))
		}
		if t.Reset > 0 && missing > 0 {
			m.refill = min(m.refill, missing/t.Reset)
		}
	case t.Reset <= 0 || missing < missingLeast*max(1, taken):
		if m.refill == 0 {
			m.refill = t.Limit / minute
		}
		if t.Reset > 0 && missing >= 1 { // a limit that is not per minute may never let more be missing
			m.refill = max(m.refill, missing/(t.Reset+resetError))
		}
	case m.Known && m.refilled:
		m.refill += smoothing * ((missing-0.5)/t.Reset - m.refill)
	default:
		m.refill, m.refilled = (missing-0.5)/t.Reset, true
	}
}

// before is what would be left when a call leaves at the moment at, without what was sent and what ended since the call Seq, and
// what is left at most. Of a window, and before the first answer, nothing is known.
func (m *Mirror) before(at float64) (left, full float64) {
	if !m.Known || m.turn.Windowed() {
		return 0, 0
	}
	return m.left + m.net()*(at-m.at), m.full
}

// net is what comes in for us.
func (m *Mirror) net() float64 {
	others := max(0, m.others.Rate)
	ours := max(oursLeast*m.refill, m.refill-others)
	return ours + pressed*min(others, pressedMost*ours)
}

// Wait is how long until n may go, and whether there is plenty left: most of what a bucket
// holds, or late in a window as much of it as of its time, if that holds enough to mean something. own is what
// we have used since the call m.Seq; newest is the last call. More than it holds goes when
// it is full: n is an estimate, and the provider decides. What is left of a window is spread over it, unless n is saved
// or was due in a pause in demand.
func (m *Mirror) Wait(now, n, own float64, newest int64, saved bool) (wait float64, plentiful bool) {
	if !m.turn.Windowed() {
		return m.bucketWait(now, n, own, newest)
	}
	wait, left := m.windowWait(now, n, own, saved)
	rest := m.turn.At - now
	telling := rest <= max(0.5*m.turn.span, cycleShortest) && !m.old()
	return wait, m.limit >= several && telling && (left+1)*m.turn.span >= m.limit*rest
}

func (m *Mirror) bucketWait(now, n, own float64, newest int64) (wait float64, plentiful bool) {
	n = min(n, m.limit)
	came := m.left + m.net()*(now-m.at)
	m.lost = min(m.lost, max(0, came)) // the limit may have fallen since
	left := came - own - m.lost
	if over := left - m.full; over > 0 {
		m.lost, m.lostAt, left = m.lost+over, newest, m.full
	}
	need := n + max(0, min(spare*n, 0.5*(m.full-n)))
	need = min(need, m.full)                        // what can never be there is not waited for
	fills := m.last + fillsBy*m.full/m.refill - now // whatever was sent before the last call
	comes := min((need-left)/m.net(), fills)
	switch {
	case m.part.On():
		return max(m.part.Wait(now, n, m.full), comes), false
	case left >= need:
		return 0, left >= plenty*m.full && m.full >= quick*m.refill && m.full >= several
	default:
		return max(0, comes), false
	}
}

// makesUp reports whether n was due in a pause in demand, in the time of one window at most, and when what follows it is due. It is
// not where others use the window: they pause at the same time, or have used what was due.
func (m *Mirror) makesUp(now, n float64) bool {
	others := m.part.On() || m.shared > 0 && now < m.shared+remembered
	if m.due == 0 || others {
		return false
	}
	if m.next = max(m.due, now-m.turn.span) + n*m.turn.span/m.limit; m.next > now { // all of the pause has been made up for
		m.due, m.next = 0, 0
		return false
	}
	return true
}

// exceeded reports whether clearly less than used has been left in the last quarter of an hour.
func (m *Mirror) exceeded(used float64) bool {
	room := m.full + m.refill*remembered
	if m.turn.Windowed() {
		room = m.limit * (1 + remembered/max(m.turn.span, leastTurn))
	}
	return m.Known && used > (1+rare)*room
}

// old reports whether the newest answer is about an earlier window, so that it is unknown what other processes have used of the
// present one.
func (m *Mirror) old() bool { return m.turn.At > m.heard+m.turn.span }

// windowWait spreads what is left of a window over the rest of its time, unless n is saved or was due in a pause in demand.
func (m *Mirror) windowWait(now, n, own float64, saved bool) (wait, left float64) {
	if m.turn.Pass(now - resetError) { // the new window is known by what was sent in it
		m.at, m.left, m.made = now, m.limit, own
		if m.turn.begins(now) <= m.begun+0.5*m.turn.span {
			m.made -= m.used
		}
	}
	n = min(n, m.limit)
	left = m.left - (own - m.made)
	if left < n {
		m.due, m.next = 0, 0 // all of it is used
		return m.turn.At - now + resetError, left
	}
	if m.part.On() {
		left *= m.part.share
	}
	if saved || n == 0 || m.makesUp(now, n) { // a call of unknown size is none that they can be spread over
		return 0, left
	}
	// an equal part of the time from the last call to the turn, for each call that is left, and one before the turn
	return max(0, (n*m.turn.At+left*m.last)/(n+left)-now), left
}
