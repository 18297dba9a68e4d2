package throttle

import "context"

// refusalLocked is why a is not even queued.
func (l *Limiter) refusalLocked(now instant, a *amounts) error {
	if l.closed.cause != nil {
		if err := l.closed.reason(now); err != nil {
			return err
		}
	}
	if a.within(&l.most) {
		return nil
	}
	return l.costErrorLocked(a)
}

// costErrorLocked says which amount can never be admitted.
func (l *Limiter) costErrorLocked(a *amounts) error {
	for u := range Units {
		if a[u] < 0 || a[u] > MaxAmount {
			return &CostError{Limiter: l.name, Unit: u, Amount: a[u], Max: MaxAmount}
		}
	}
	for i := range l.gauges {
		if g := &l.gauges[i]; a[g.unit] > g.max {
			return &CostError{Limiter: l.name, Unit: g.unit, Amount: a[g.unit], Max: g.max, Window: g.Window}
		}
	}
	return nil
}

// tooLateLocked is the error of a ctx that ends before a could be admitted.
func (l *Limiter) tooLateLocked(ctx context.Context, now instant, a *amounts) error {
	deadline, ok := ctx.Deadline()
	if !ok || !l.clock.Real() {
		return nil
	}
	left := l.clock.Until(deadline) - now
	wait := l.paused - now
	for i := range l.gauges {
		g := &l.gauges[i]
		if n := a[g.unit]; n > 0 && (l.inFlight == 0 || g.unit == Requests && l.shared == nil) {
			wait = max(wait, g.meter.wait(now, n))
		}
	}
	if wait <= left {
		return nil
	}
	l.stats.Refused++
	return &DeadlineError{Limiter: l.name, Wait: wait, Left: left}
}
