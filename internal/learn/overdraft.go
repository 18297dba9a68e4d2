package learn

// Overdraft tests now and then whether more calls are taken than the headers leave
// room for: they may be about a smaller limit than the one that rejects, or state a
// wrong time. A test sends faster than calls come in, or at the end of a window more
// than is left of it. It begins after many calls that were held back, or after a minute
// without a call.
type Overdraft struct {
	held   float64 // calls that the headers have held back since the last test
	waits  bool    // they hold back the next one
	proved bool    // the last test has proved them too low
	next   float64 // no test before
	pause  float64 // seconds from the last test to next

	testing bool    // a test runs, or has ended without a rejection or a proof
	of      Value   // what it tests: calls or tokens
	before  int64   // the last call sent before the test
	began   float64 // when
	ends    float64
	proof   float64 // how many of them have to be taken, besides those that come in
	refill  float64 // of these, per second
	pace    float64 // of a test, per second
	taken   float64
	last    float64 // when the last call that was taken left: answers overtake each other
}

// hold is what the headers of one unit hold a call back for.
type hold struct {
	m    *Mirror
	of   Value
	n    float64 // what the call takes
	own  float64 // what was sent since the call m.Seq
	wait float64
}

// Source of these: the families and the harsher providers in internal/simulate.
const (
	draftPace = 2 // times what comes in, or what gets the proof just before the window turns: the pace of a test
)

const (
	draftFirst = 1 / probeShare // calls held back before a test: it costs about one
	draftCost  = 1 / probeShare // times the wait that a rejection asked for: seconds to the next test, so that tests cost no more than probes
	draftAgain = handful        // calls held back before a test in a window, or if the last one found the headers too low
	draftMost  = trustMost      // seconds of a test, or to the next one, at most: meanwhile the limit may have changed
	draftLasts = cycleShortest  // seconds of a test, at least
	draftTimes = draftPace      // times what the proof takes to come in: seconds of a test
	draftEnd   = windowShare    // of a window: a test that is rejected at its end costs no more
	draftIdle  = rarestProbe    // seconds without a call, held back for longer than that, until a test

	draftSlowest = longestPause // seconds between two calls of a test, at most
)

// Wait is how long until a call may go which the headers hold back. last is the newest call. It reports whether a test begins.
func (o *Overdraft) Wait(now float64, h hold, last Call) (wait float64, begins bool) {
	runs := o.testing && now < o.ends && (o.of == h.of || h.wait <= draftIdle)
	idle, probe := h.wait > draftIdle, max(o.next, last.At+draftIdle)
	if !runs && (o.due(now, h.m) || idle && now >= probe) {
		o.begin(now, h, last.Seq)
		runs, begins = true, true
	}
	if o.waits = !runs; runs {
		if o.of != h.of {
			return h.wait, false
		}
		return min(h.wait, max(0, last.At+h.n/o.pace-now)), begins
	}
	wait = h.wait
	if end := h.m.turn.At - draftEnd*h.m.turn.span; h.m.turn.Windowed() && o.ready(end, h.m) {
		wait = min(wait, end-now) // or no call might ask near the end of a window that is used up early
	}
	if idle {
		wait = min(wait, probe-now)
	}
	return wait, false
}

func (o *Overdraft) due(now float64, m *Mirror) bool {
	return o.ready(now, m) && (!m.turn.Windowed() || now >= m.turn.At-draftEnd*m.turn.span)
}

// ready reports whether a test may begin at a moment, which in a window has to be near its end: there a rejection costs little.
func (o *Overdraft) ready(now float64, m *Mirror) bool {
	least, shared := draftFirst, m.others.Rate > rare*m.refill
	if o.proved || m.turn.Windowed() {
		least = draftAgain
	}
	return o.held >= least && now >= o.next && (!shared || m.turn.Windowed())
}

func (o *Overdraft) begin(now float64, h hold, newest int64) {
	m := h.m
	o.testing, o.of, o.before, o.began, o.last, o.held, o.taken = true, h.of, newest, now, now, 0, 0
	if m.turn.Windowed() {
		o.proof = max(0, m.left-(h.own-m.made)) + several*h.n
		o.ends, o.refill = m.turn.At, 0
		o.pace = max(h.n/draftSlowest, draftPace*o.proof/max(m.turn.At-now, resetError))
		return
	}
	left := m.left + m.refill*(now-m.at) - h.own
	o.proof = max(0, left) + several*h.n
	o.refill, o.pace = m.refill, max(h.n/draftSlowest, draftPace*m.refill)
	o.ends = now + min(draftMost, max(draftLasts, draftTimes*o.proof/m.refill))
}

// Sent notes that a call has left.
func (o *Overdraft) Sent() {
	if o.waits {
		o.held++
		o.waits = false
	}
}

// Refused ends the test to which the rejected call belongs, and reports whether there is one. A cap and a service that is full say
// nothing about what the headers leave.
func (o *Overdraft) Refused(now float64, c Call, r *Refusal) bool {
	if !o.tests(c) || r.Mild || r.Names == FlightLimit {
		return false
	}
	o.testing, o.proved = false, false
	o.pause = max(againFirst, 2*o.pause, draftCost*r.Asked)
	told, least := r.Calls, 1.0
	if o.of == OfTokens {
		told, least = r.Tokens, c.Tokens
	}
	if told.Known && told.Remaining < least {
		o.pause = max(remembered, o.pause)
	}
	o.pause = min(draftMost, o.pause)
	o.next = now + o.pause
	return true
}

// Taken notes that a call was taken which used so many tokens, and reports whether that proves the headers too low. What it
// reserved and did not use may have been given back.
func (o *Overdraft) Taken(c Call, used float64) bool {
	if !o.tests(c) {
		return false
	}
	if o.of == OfTokens {
		o.taken += min(used, c.Tokens)
	} else {
		o.taken++
	}
	o.last = max(o.last, c.At)
	if o.proved = o.taken >= o.proof+o.refill*(o.last-o.began); !o.proved {
		return false
	}
	o.testing, o.pause, o.next = false, 0, 0
	return true
}

// tests reports whether the call left during the test.
func (o *Overdraft) tests(c Call) bool { return o.testing && c.Seq > o.before && c.At < o.ends }
