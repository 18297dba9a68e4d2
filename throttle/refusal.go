package throttle

import "context"

// refusalLocked is why a is not even queued.
func (l *Limiter) refusalLocked(now instant, a *amounts) error {
	if l.closed.cause != nil {
		if err := l.closed.rejects(now, a); err != nil {
			return err
		}
	}
	if a.within(&l.most) {
		return nil
	}
	return impossible(l.name, a, l.limitsLocked().Windows)
}

// impossible is why a can never be admitted by all of the windows, or nil.
func impossible(name string, a *amounts, windows []Window) error {
	for u := range Units {
		if a[u] < 0 || a[u] > MaxAmount {
			return &CostError{Limiter: name, Unit: u, Amount: a[u], Max: MaxAmount}
		}
	}
	for _, w := range windows {
		if n := a[w.spec.Unit]; n > w.spec.Max {
			return &CostError{Limiter: name, Unit: w.Unit(), Amount: n, Max: w.spec.Max, Window: w}
		}
	}
	return nil
}

// tooLateLocked is the error of a ctx that ends before a could be admitted,
// behind all that wait already. own is the line of a joint call.
func (l *Limiter) tooLateLocked(ctx context.Context, now instant, a *amounts, place int64, own *line) error {
	deadline, ok := ctx.Deadline()
	if !ok || !l.clock.Real() {
		return nil
	}
	left := l.clock.Until(deadline) - now
	wait := l.earliestLocked(now, a, place, own, true)
	if wait <= left {
		return nil
	}
	l.stats.Refused++
	return &DeadlineError{Limiter: l.name, Wait: wait, Left: left}
}
