package throttle

// Permit is the right to make one call. Copies of it are the same permit. End
// it once, with Release, Settle or Cancel: the first one wins, and the others do
// nothing, as with the zero Permit. Safe for concurrent use.
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
func (p Permit) Release() { p.end(asReserved, nil) }

// Settle ends the permit and corrects the windows to the actual cost: the
// difference is given back to the interval it was taken from, or charged now,
// even below zero. Amounts are clamped to 0..MaxAmount.
func (p Permit) Settle(actual Cost) { p.end(asUsed, &actual) }

// Cancel ends the permit of a call that was never sent, and gives everything
// back.
func (p Permit) Cancel() { p.end(neverSent, nil) }

// end ends the permit; there is an actual cost only if how is asUsed.
func (p Permit) end(how ending, actual *Cost) {
	l := p.l
	if l == nil {
		return
	}
	l.lock()
	if how == asReserved && l.queue.head == nil && len(l.fronts) == 0 && l.governor == nil {
		if l.records[p.slot].gen == p.gen {
			l.freeLocked(p.slot)
		}
		l.unlock()
		return
	}
	l.endSlowly(p, how, actual)
}

// endSlowly is end for calls that change more than the slots. It gives up the lock.
func (l *Limiter) endSlowly(p Permit, how ending, actual *Cost) {
	defer l.unlock()
	var used amounts
	used.use(actual)
	if now := l.nowLocked(); l.endLocked(now, p, how, &used) != nil {
		l.pumpLocked(now)
	}
}

// use sets the amounts of a call that may be none, clamped.
func (a *amounts) use(actual *Cost) {
	if actual != nil {
		c := actual.clamped()
		a.set(&c)
	}
}

// endLocked ends p and returns what was noted about the call, nil if p had
// ended before. The queue is served as of now first, and not afterwards.
func (l *Limiter) endLocked(now instant, p Permit, how ending, used *amounts) *admission {
	if l.records[p.slot].gen != p.gen {
		return nil
	}
	l.catchUpLocked(now)
	r := l.freeLocked(p.slot)
	l.settleLocked(now, &r.admission, how, used)
	return &r.admission
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
