package throttle

import (
	"context"
	"time"

	"github.com/headrace/headrace/event"
)

// Allow reports whether c is admitted now, and takes it for good: there is no
// permit to end. With a concurrency bound a slot has to be free at this
// instant, but none is held. A cost that can never be admitted is false too.
func (l *Limiter) Allow(c Cost) bool {
	if l.shared != nil {
		p, err := l.TryAcquire(c)
		p.Release()
		return err == nil
	}
	var n load
	n.set(&c)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	h, err := l.tryLocked(now, &n)
	if h.wait > 0 || err != nil {
		return false
	}
	l.admitLocked(now, now, &n, false)
	return true
}

// TryAcquire returns a permit for c now, or a *LimitedError that says when it
// is worth trying again, or a *CostError if it never is.
func (l *Limiter) TryAcquire(c Cost) (Permit, error) {
	p, err := l.tryAcquire(c)
	if l.shared == nil || err != nil {
		return p, err
	}
	return l.shared.try(p)
}

func (l *Limiter) tryAcquire(c Cost) (Permit, error) {
	var n load
	n.set(&c)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	h, err := l.tryLocked(now, &n)
	switch {
	case err != nil:
		return Permit{}, err
	case h.wait > 0:
		return Permit{}, &LimitedError{Limiter: l.name, RetryAfter: h.wait, Bound: l.boundLocked(h)}
	}
	return l.admitLocked(now, now, &n, true), nil
}

// tryLocked is what holds back a newcomer; others who wait are served first.
func (l *Limiter) tryLocked(now instant, n *load) (hold, error) {
	if err := l.refusalLocked(now, &n.of); err != nil {
		return hold{}, err
	}
	l.catchUpLocked(now)
	if head := l.queue.head; head != nil {
		h, _ := l.holdLocked(now, now, &head.load)
		l.stats.Refused++
		return h, nil
	}
	h, _ := l.holdLocked(now, now, n)
	if h.wait > 0 {
		l.stats.Refused++
	}
	return h, nil
}

// Check returns why c would be turned away at once, however long it waited: a
// *CostError, or the reason given to Close. It is nil if c is admitted now or later.
func (l *Limiter) Check(c Cost) error {
	a := c.amounts()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusalLocked(l.nowLocked(), &a)
}

// Wait blocks until c is admitted and takes it for good, like a blocking
// Allow. Its errors are those of Acquire.
func (l *Limiter) Wait(ctx context.Context, c Cost) error {
	p, err := l.acquire(ctx, c, lastPlace, l.shared != nil)
	p.Release()
	return err
}

// Acquire blocks until c is admitted and returns its permit. When ctx ends
// first, it returns context.Cause(ctx) and nothing was taken.
//
// What cannot come right fails at once: a cost that never fits with a
// *CostError, a ctx whose deadline is before the earliest possible admission
// with a *DeadlineError, anything on a closed limiter with the reason given to
// Close. The earliest admission is reckoned from the windows and the pause, as
// if nobody were ahead; a window of another unit than requests does not count
// while calls are in flight, since they may give some back. With an injected
// clock the deadline, which is in real time, is only met by waiting for it.
func (l *Limiter) Acquire(ctx context.Context, c Cost) (Permit, error) {
	return l.acquire(ctx, c, lastPlace, true)
}

// Reacquire is Acquire for a call that was admitted before, with sequence
// number seq, and has to be sent again: it waits ahead of everybody who was
// first admitted later, or never yet.
func (l *Limiter) Reacquire(ctx context.Context, c Cost, seq int64) (Permit, error) {
	return l.acquire(ctx, c, seq, true)
}

func (l *Limiter) acquire(ctx context.Context, c Cost, place int64, keeps bool) (Permit, error) {
	p, err := l.await(ctx, c, place, keeps)
	if l.shared == nil || err != nil {
		return p, err
	}
	return l.shared.acquire(ctx, p, place)
}

// await is acquire within this process.
func (l *Limiter) await(ctx context.Context, c Cost, place int64, keeps bool) (Permit, error) {
	if ctx.Err() != nil {
		return Permit{}, context.Cause(ctx)
	}
	w, p, err := l.enter(ctx, c, place, keeps)
	if w == nil {
		return p, err
	}
	return l.stand(ctx, w)
}

// enter admits c at once or returns the waiter that stands in the queue for it.
func (l *Limiter) enter(ctx context.Context, c Cost, place int64, keeps bool) (*waiter, Permit, error) {
	var n load
	n.set(&c)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	if err := l.refusalLocked(now, &n.of); err != nil {
		return nil, Permit{}, err
	}
	l.catchUpLocked(now)
	leads := l.queue.head == nil || place < l.queue.head.place
	wait := Forever
	if leads {
		h, _ := l.holdLocked(now, now, &n)
		if wait = h.wait; wait == 0 {
			return nil, l.admitLocked(now, now, &n, keeps), nil
		}
	}
	if err := l.tooLateLocked(ctx, now, &n.of); err != nil {
		return nil, Permit{}, err
	}
	return l.queueLocked(now, n, place, keeps, leads, wait), Permit{}, nil
}

// queueLocked puts n into the queue. A new head has to wait for that long.
func (l *Limiter) queueLocked(now instant, n load, place int64, keeps, leads bool, wait time.Duration) *waiter {
	w := l.queue.get()
	w.load, w.place, w.keeps, w.since = n, place, keeps, now
	l.queue.add(w)
	if leads {
		l.wakeLocked(now, wait)
	}
	return w
}

// stand waits until w is served, or ctx ends.
func (l *Limiter) stand(ctx context.Context, w *waiter) (Permit, error) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		if l.leave(w) {
			return Permit{}, context.Cause(ctx)
		}
		<-w.ready // it was served in the same moment
	}
	p, err, waited := w.permit, w.err, w.waited
	l.mu.Lock()
	l.queue.put(w)
	l.mu.Unlock()
	l.tell(event.LimiterWaited, waited, "", err)
	return p, err
}

// leave takes w out of the queue; false if it has been served.
func (l *Limiter) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !w.queued {
		return false
	}
	led := l.queue.head == w
	l.queue.remove(w)
	l.queue.put(w)
	l.stats.Abandoned++
	if led {
		l.pumpLocked(l.nowLocked())
	}
	return true
}

// catchUpLocked serves those whose timer should have fired by now.
func (l *Limiter) catchUpLocked(now instant) {
	if l.queue.head != nil && l.due <= now {
		l.pumpLocked(now)
	}
}

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
		if n := a[g.unit]; n > 0 && (g.unit == Requests || l.inFlight == 0) {
			wait = max(wait, g.meter.wait(now, n))
		}
	}
	if wait <= left {
		return nil
	}
	l.stats.Refused++
	return &DeadlineError{Limiter: l.name, Wait: wait, Left: left}
}

// nowLocked never steps back, whatever an injected clock does.
func (l *Limiter) nowLocked() instant {
	l.last = max(l.last, l.clock.Elapsed())
	return l.last
}
