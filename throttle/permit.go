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

// ending says what becomes of the cost that was reserved.
type ending uint8

const (
	asReserved ending = iota
	asUsed
	neverSent
)

// Release ends the permit; the call cost what was reserved.
func (p Permit) Release() { p.end(asReserved, nil, nil) }

// Settle ends the permit and corrects the windows to what the call really
// cost: what was reserved too much is given back to the interval that it was
// taken from, what was reserved too little is charged now, even if a window
// goes below zero. Amounts outside 0..MaxAmount are clamped.
func (p Permit) Settle(actual Cost) { p.end(asUsed, &actual, nil) }

// Cancel ends the permit of a call that was never sent: all that was reserved is given back.
func (p Permit) Cancel() { p.end(neverSent, nil, nil) }

// End ends the permit like Settle, or like Release if actual is the zero
// Cost, and reports whether it did: false if the permit had ended before.
// f, unless nil, runs under the limiter's lock before anybody else is
// admitted, so that a law can hear how the call went; it must not call the
// limiter.
func (p Permit) End(actual Cost, f func(now time.Time, s Sent)) bool {
	if actual == (Cost{}) {
		return p.end(asReserved, nil, f)
	}
	return p.end(asUsed, &actual, f)
}

// CancelThen is Cancel with the f of End.
func (p Permit) CancelThen(f func(now time.Time, s Sent)) bool { return p.end(neverSent, nil, f) }

// Sent returns what was noted at the admission; false if the permit has ended.
func (p Permit) Sent() (Sent, bool) {
	if p.l == nil {
		return Sent{}, false
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	r := &p.l.records[p.slot]
	return p.l.sent(&r.admission), r.gen == p.gen
}

// end ends the permit; there is an actual cost only if how is asUsed.
func (p Permit) end(how ending, actual *Cost, f func(now time.Time, s Sent)) bool {
	l := p.l
	if l == nil {
		return false
	}
	var used amounts
	if actual != nil {
		c := actual.clamped()
		used.set(&c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.records[p.slot].gen != p.gen {
		return false
	}
	if how == asReserved && f == nil && l.queue.head == nil && l.governor == nil {
		l.freeLocked(p.slot)
		return true
	}
	now := l.nowLocked()
	l.catchUpLocked(now)
	r := l.freeLocked(p.slot)
	l.settleLocked(now, &r.admission, how, &used)
	if f == nil {
		l.pumpLocked(now)
		return true
	}
	defer l.pumpLocked(now) // also if f panics
	f(l.clock.At(now), l.sent(&r.admission))
	return true
}

// settleLocked corrects the windows to what a call really cost: nothing if it was never sent.
func (l *Limiter) settleLocked(now instant, a *admission, how ending, used *amounts) {
	if how == asReserved {
		return
	}
	var reserved amounts
	reserved.set(&a.cost)
	for i := range l.gauges {
		g := &l.gauges[i]
		taken := a.at
		if g.Bucket != nil {
			taken = a.credited
		}
		if g.Settle(now, a.seq, taken, reserved[g.Unit]-used[g.Unit]) && g.Bucket != nil {
			l.charged = now
		}
	}
	if how == neverSent && l.governor != nil {
		l.governor.OnUnsent(l.clock.At(now), l.sent(a))
	}
}
