package throttle

import "time"

// TotalLocked is what was admitted so far, with the number of the last call. It
// may only be called as InFlightLocked may.
func (l *Limiter) TotalLocked() Sent { return Sent{Seq: l.seq, Total: l.total.cost()} }

// SetMaxQueue bounds how many calls may wait; 0 means no bound. One more is
// turned away with a *LimitedError.
func (l *Limiter) SetMaxQueue(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mostQueued = n
}

// Retract is CancelThen for a call that was not admitted after all, because of
// limits elsewhere: Stats does not count it.
func (p Permit) Retract(f func(now time.Time, s Sent)) bool {
	return p.CancelThen(func(now time.Time, s Sent) {
		p.l.stats.Admitted = max(0, p.l.stats.Admitted-1)
		f(now, s)
	})
}
