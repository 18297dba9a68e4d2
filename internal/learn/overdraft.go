package learn

// Overdraft tries now and then whether more calls are taken than the headers leave
// room for: they may be about a smaller limit than the one that rejects. A try
// sends faster than calls come in, or at the end of a window more than is left of it.
type Overdraft struct {
	held  float64 // calls that the headers have held back since the last try
	waits bool    // they hold back the next one
	low   bool    // the last try found them too low
	next  float64 // no try before
	pause float64 // seconds from the last try to next

	trying bool    // a try runs, or has ended without a rejection or a proof
	before int64   // the last call sent before the try
	began  float64 // when
	ends   float64
	proof  float64 // calls that have to be taken, besides those that come in
	refill float64 // of these, per second
	pace   float64 // calls per second
	taken  float64
	last   float64 // when the last of these left: answers overtake each other
}

// Source of these: the families and the harsher providers in internal/simulate.
const (
	draftShare = 0.1 // of what the bucket or window holds: if so much more is taken, the headers are too low
	draftPace  = 2   // times what comes in, or what gets the proof just before the window turns: the pace of a try
)

const (
	draftFirst = 1 / probeShare // calls held back before a try: it costs about one
	draftCost  = 1 / probeShare // times the wait that a rejection asked for: seconds to the next try, so that tries cost no more than probes
	draftAgain = handful        // calls held back before a try in a window, or if the last one found the headers too low
	draftMost  = trustMost      // seconds of a try, or to the next one, at most: meanwhile the limit may have changed
	draftLasts = cycleShortest  // seconds of a try, at least
	draftTimes = draftPace      // times what the proof takes to come in: seconds of a try
	draftEnd   = windowShare    // of a window: a try that is rejected at its end costs no more
)

// Wait is how long until a call may go which the headers hold back for so long. own is
// what was sent since the call m.Seq, last the newest call. It reports whether a try begins.
func (o *Overdraft) Wait(now, wait float64, m *Mirror, own float64, last Call) (shorter float64, begins bool) {
	runs := o.trying && now < o.ends
	if !runs && o.due(now, m) {
		o.begin(now, m, own, last.Seq)
		runs, begins = true, true
	}
	if o.waits = !runs; !o.waits {
		return min(wait, max(0, last.At+1/o.pace-now)), begins
	}
	if end := m.turn.At - draftEnd*m.turn.span; m.turn.Windowed() && o.ready(end, m) {
		return min(wait, end-now), false // or no call might ask near the end of a window that is used up early
	}
	return wait, false
}

func (o *Overdraft) due(now float64, m *Mirror) bool {
	return o.ready(now, m) && (!m.turn.Windowed() || now >= m.turn.At-draftEnd*m.turn.span)
}

// ready reports whether a try may begin at a moment, which in a window has to be near its end: there a rejection costs little.
func (o *Overdraft) ready(now float64, m *Mirror) bool {
	least, shared := draftFirst, m.others.Rate > rare*m.refill
	if o.low || m.turn.Windowed() {
		least = draftAgain
	}
	return o.held >= least && now >= o.next && (!shared || m.turn.Windowed())
}

func (o *Overdraft) begin(now float64, m *Mirror, own float64, newest int64) {
	o.trying, o.before, o.began, o.last, o.held, o.taken = true, newest, now, now, 0, 0
	if m.turn.Windowed() {
		o.proof = max(0, m.left-(own-m.made)) + max(several, draftShare*m.limit)
		o.ends, o.refill = m.turn.At, 0
		o.pace = draftPace * o.proof / max(m.turn.At-now, resetError)
		return
	}
	left := m.left + m.refill*(now-m.at) - own
	o.proof = max(0, left) + max(several, draftShare*m.full)
	o.refill, o.pace = m.refill, draftPace*m.refill
	o.ends = now + min(draftMost, max(draftLasts, draftTimes*o.proof/m.refill))
}

// Sent notes that a call has left.
func (o *Overdraft) Sent() {
	if o.waits {
		o.held++
		o.waits = false
	}
}

// Refused ends the try to which the rejected call belongs, and reports whether there is one.
func (o *Overdraft) Refused(now float64, c Call, r *Refusal) bool {
	if !o.tries(c) {
		return false
	}
	o.trying, o.low = false, false
	o.pause = max(againFirst, 2*o.pause, draftCost*r.Asked)
	if r.Calls.Known && r.Calls.Remaining < 1 {
		o.pause = max(remembered, o.pause)
	}
	o.pause = min(draftMost, o.pause)
	o.next = now + o.pause
	return true
}

// Taken notes that a call was taken, and reports whether that proves the headers too low.
func (o *Overdraft) Taken(c Call) bool {
	if !o.tries(c) {
		return false
	}
	o.taken++
	o.last = max(o.last, c.At)
	if o.low = o.taken >= o.proof+o.refill*(o.last-o.began); !o.low {
		return false
	}
	o.trying, o.pause, o.next = false, 0, 0
	return true
}

// tries reports whether the call left during the try.
func (o *Overdraft) tries(c Call) bool { return o.trying && c.Seq > o.before && c.At < o.ends }
