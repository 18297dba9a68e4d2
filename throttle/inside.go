package throttle

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
