package throttle

import "time"

// Permit is the right to make one call. It is a value: copies are the same
// permit. End it exactly once with Release, Settle, Cancel or End; the first
// of them wins and every later one does nothing. The zero Permit is nobody's
// and ending it does nothing. Safe for concurrent use.
type Permit struct {
	l    *Limiter
	slot uint32
	gen  uint64
}

// record is a call in flight. Its generation makes an ended permit, and a
// copy of it, harmless when the record is used again.
type record struct {
	gen  uint64
	sent Sent
}

// ending says what becomes of the cost that was reserved.
type ending uint8

const (
	asReserved ending = iota
	asUsed
	neverSent
)

// Release ends the permit; the call cost what was reserved.
func (p Permit) Release() { p.end(asReserved, Cost{}, nil) }

// Settle ends the permit and corrects the windows to what the call really
// cost: what was reserved too much is given back to the interval that it was
// taken from, what was reserved too little is charged now, even if a window
// goes below zero. Amounts outside 0..MaxAmount are clamped.
func (p Permit) Settle(actual Cost) { p.end(asUsed, actual, nil) }

// Cancel ends the permit of a call that was never sent: all that was reserved is given back.
func (p Permit) Cancel() { p.end(neverSent, Cost{}, nil) }

// End ends the permit like Settle, or like Release if actual is the zero
// Cost, and reports whether it did: false if the permit had ended before.
// f, unless nil, runs under the limiter's lock before anybody else is
// admitted, so that a law can hear how the call went; it must not call the
// limiter.
func (p Permit) End(actual Cost, f func(now time.Time, s Sent)) bool {
	how := asUsed
	if actual == (Cost{}) {
		how = asReserved
	}
	return p.end(how, actual, f)
}

// CancelThen is Cancel with the f of End.
func (p Permit) CancelThen(f func(now time.Time, s Sent)) bool { return p.end(neverSent, Cost{}, f) }

// Sent returns what was noted at the admission; false if the permit has ended.
func (p Permit) Sent() (Sent, bool) {
	if p.l == nil {
		return Sent{}, false
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	r := &p.l.records[p.slot]
	return r.sent, r.gen == p.gen
}

func (p Permit) end(how ending, actual Cost, f func(now time.Time, s Sent)) bool {
	l := p.l
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.records[p.slot]
	if r.gen != p.gen {
		return false
	}
	r.gen++
	l.inFlight--
	l.free = append(l.free, p.slot)
	if how == asReserved && f == nil && l.queue.head == nil && l.governor == nil {
		return true
	}
	now := l.nowLocked()
	if how != asReserved {
		l.settleLocked(now, r.sent, how, actual.clamped())
	}
	if f != nil {
		f(l.clock.At(now), r.sent)
	}
	l.pumpLocked(now)
	return true
}

func (l *Limiter) settleLocked(now instant, s Sent, how ending, actual Cost) {
	at := l.clock.Until(s.At)
	for i := range l.gauges {
		g := &l.gauges[i]
		used := int64(0)
		if how == asUsed {
			used = actual.Of(g.unit)
		}
		switch reserved := s.Cost.Of(g.unit); {
		case used < reserved && s.Seq > g.since:
			g.meter.giveBack(now, at, reserved-used)
		case used > reserved:
			g.meter.take(now, used-reserved)
		}
	}
}

func (l *Limiter) permitLocked(s Sent) Permit {
	var slot uint32
	if n := len(l.free); n > 0 {
		slot, l.free = l.free[n-1], l.free[:n-1]
	} else {
		slot = uint32(len(l.records)) //nolint:gosec // one record per call in flight: far below 2^32
		l.records = append(l.records, record{})
	}
	l.inFlight++
	r := &l.records[slot]
	r.sent = s
	return Permit{l, slot, r.gen}
}
