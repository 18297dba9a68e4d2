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

func (l *Limiter) sent(a *admission) (s Sent) {
	l.describe(&s, a)
	return s
}

// describe fills s in place, as load.set does.
func (l *Limiter) describe(s *Sent, a *admission) {
	s.Seq, s.At, s.InFlight = a.seq, l.clock.At(a.at), a.inFlight
	copyCost(&s.Cost, &a.cost)
	t := &a.total
	s.Total.Requests, s.Total.Tokens, s.Total.Input, s.Total.Output, s.Total.Points = t[0], t[1], t[2], t[3], t[4]
}

// noteLocked fills a in place, as load.set does.
func (l *Limiter) noteLocked(a *admission, now, credited instant, n *load) {
	a.seq, a.at, a.credited, a.inFlight = l.seq, now, credited, l.inFlight+l.added
	copyCost(&a.cost, &n.cost)
	a.total.copy(&l.total)
}

// recordLocked makes room for a call, until its permit ends.
func (l *Limiter) recordLocked() (*record, Permit) {
	s := l.state
	var slot uint32
	if n := len(s.free); n > 0 {
		slot = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		slot = uint32(len(s.records)) //nolint:gosec // one record per call in flight: far below 2^32
		s.records = append(s.records, record{})
	}
	r := &s.records[slot]
	return r, Permit{l, slot, r.gen}
}

// freeLocked ends what recordLocked began. The record may be read until the lock is given up.
func (l *Limiter) freeLocked(slot uint32) *record {
	s := l.state
	r := &s.records[slot]
	r.gen++
	s.inFlight--
	s.free = append(s.free, slot)
	return r
}
