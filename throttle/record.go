package throttle

// record is a call in flight. Its generation makes an ended permit, and a
// copy of it, harmless when the record is used again.
type record struct {
	gen uint64
	admission
}

// admission is what is recorded about a call when it is admitted.
type admission struct {
	seq      int64
	at       instant
	credited instant // when buckets counted it, see head.go
	inFlight int     // others
	cost     Cost
	total    amounts
}

func (l *Limiter) sent(a *admission) Sent {
	return Sent{Seq: a.seq, At: l.clock.At(a.at), InFlight: a.inFlight, Cost: a.cost, Total: a.total.cost()}
}

// noteLocked fills a in place, as load.set does.
func (l *Limiter) noteLocked(a *admission, now, credited instant, n *load) {
	a.seq, a.at, a.credited, a.inFlight = l.seq, now, credited, l.inFlight+l.added
	copyCost(&a.cost, &n.cost)
	a.total = amounts{}
	a.total.add(&l.total)
}

// recordLocked makes room for a call, until its permit ends.
func (l *Limiter) recordLocked() (*record, Permit) {
	var slot uint32
	if n := len(l.free); n > 0 {
		slot = l.free[n-1]
		l.free = l.free[:n-1]
	} else {
		slot = uint32(len(l.records)) //nolint:gosec // one record per call in flight: far below 2^32
		l.records = append(l.records, record{})
	}
	r := &l.records[slot]
	return r, Permit{l, slot, r.gen}
}

// freeLocked ends what recordLocked began. The record may be read until the lock is given up.
func (l *Limiter) freeLocked(slot uint32) *record {
	r := &l.records[slot]
	r.gen++
	l.inFlight--
	l.free = append(l.free, slot)
	return r
}
