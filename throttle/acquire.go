package throttle

import (
	"context"

	"github.com/headrace/headrace/internal/clock"
)

// Allow reports whether c is admitted now, and takes it without a permit. A
// slot has to be free at this instant, but none is held.
func (l *Limiter) Allow(c Cost) bool {
	now := clock.Ticks() // first: see fast.go
	if !l.shared {
		now = l.ticks.Elapsed()
	}
	v := undecided
	if single(&c) {
		if f := l.fast.Load(); f == nil {
			v = l.allowBorn(now)
		} else if f.ring.words == nil {
			v = f.allow(&f.word, now, &l.ticks)
		} else {
			v = f.ring.allow(now)
		}
	}
	switch v {
	case allowed:
		return true
	case refused:
		l.refusals.Add(1)
		return false
	case undecided:
	}
	if l.governor != nil {
		return l.allowGoverned(now, c)
	}
	return l.allowSlowly(now, &c)
}

func (l *Limiter) allowSlowly(read instant, c *Cost) bool {
	var a amounts
	a.set(c)
	l.lock()
	now := l.asOfLocked(read)
	h, err := l.roomLocked(now, &a)
	ok := h.wait == 0 && err == nil
	if ok {
		l.overtakeLocked()
		l.chargeLocked(now, now, &a)
	}
	if l.simple {
		l.openLocked(now)
	}
	l.unlock()
	return ok
}

// allowGoverned gives up the lock also if the governor, which is the user's, panics.
func (l *Limiter) allowGoverned(read instant, c Cost) bool {
	var n load
	n.set(&c)
	l.lock()
	defer l.unlock()
	now := l.asOfLocked(read)
	h, err := l.tryLocked(now, &n)
	if h.wait > 0 || err != nil {
		return false
	}
	l.overtakeLocked()
	l.admitLocked(now, now, &n, false)
	return true
}

// TryAcquire returns a permit now, or a *LimitedError with the time to try
// again, or a *CostError.
func (l *Limiter) TryAcquire(c Cost) (Permit, error) {
	var n load
	n.set(&c)
	l.lock()
	if p, ok := l.takeSlotLocked(&n, true); ok {
		l.unlock()
		return p, nil
	}
	defer l.unlock()
	now := l.nowLocked()
	h, err := l.tryLocked(now, &n)
	switch {
	case err != nil:
		return Permit{}, err
	case h.wait > 0:
		return Permit{}, l.limitedLocked(now, &n.of, h, nil)
	}
	l.overtakeLocked()
	return l.admitLocked(now, now, &n, true), nil
}

// tryLocked is what holds back a newcomer, behind all that wait.
func (l *Limiter) tryLocked(now instant, n *load) (hold, error) {
	h, err := l.roomLocked(now, &n.of)
	if l.governor == nil || err != nil || l.queue.head != nil || len(l.fronts) > 0 {
		return h, err
	}
	limited := h.wait > 0
	if h = l.governedLocked(now, n.cost, h); h.wait > 0 && !limited {
		l.stats.Refused++
	}
	return h, nil
}

// roomLocked is tryLocked but for the governor's say about the newcomer.
func (l *Limiter) roomLocked(now instant, a *amounts) (h hold, err error) {
	if l.closed.cause != nil || !a.within(&l.most) {
		if err := l.refusalLocked(now, a); err != nil {
			return hold{}, err
		}
	}
	if l.queue.head != nil || len(l.fronts) > 0 {
		l.catchUpLocked(now)
	}
	switch {
	case len(l.fronts) > 0:
		h = l.newcomerHoldLocked(now, a)
	case l.queue.head != nil:
		h = l.headHoldLocked(now)
	default:
		h, _ = l.limitsHoldLocked(now, now, a)
	}
	if h.wait > 0 {
		l.stats.Refused++
	}
	return h, nil
}

// headHoldLocked is what holds back the head of the queue. It is served first
// if nothing does any more, because a governor has changed its mind.
func (l *Limiter) headHoldLocked(now instant) (h hold) {
	head := l.queue.head
	if h, _ = l.holdLocked(now, now, &head.load); h.wait == 0 {
		l.pumpLocked(now)
		h = hold{wait: 1, kind: BoundByGovernor} // the calls behind it come first, too
	}
	return h
}

// Check returns the error with which c would be rejected even if it waited: a
// *CostError, or the reason passed to Close.
func (l *Limiter) Check(c Cost) error {
	a := c.amounts()
	l.lock()
	defer l.unlock()
	return l.refusalLocked(l.nowLocked(), &a)
}

// Wait is Acquire without a permit, like a blocking Allow.
func (l *Limiter) Wait(ctx context.Context, c Cost) error {
	p, err := l.acquire(ctx, c, lastPlace, false, nil)
	p.Release()
	return err
}

// Acquire blocks until c is admitted. If ctx ends first, it returns
// context.Cause(ctx) and nothing was taken.
//
// It fails at once with a *CostError if c can never fit, with a *DeadlineError
// if the deadline of ctx is before the earliest possible admission, and with
// the reason given to Close. The earliest admission follows from the pause, the
// queue and the windows. While calls are in flight, windows of other units than
// requests do not count, because those calls may settle for less. An injected
// clock has no deadlines.
func (l *Limiter) Acquire(ctx context.Context, c Cost) (Permit, error) {
	return l.acquire(ctx, c, lastPlace, true, nil)
}

func (l *Limiter) acquire(ctx context.Context, c Cost, place int64, keeps bool, o onlooker) (Permit, error) {
	if ctx.Err() != nil {
		return Permit{}, context.Cause(ctx)
	}
	var n load
	n.set(&c)
	l.lock()
	if p, ok := l.takeSlotLocked(&n, keeps); ok {
		l.unlock()
		return p, nil
	}
	w, p, err := l.enterLocked(ctx, &n, place, keeps)
	if w == nil {
		return p, err
	}
	return l.await(ctx, w, o)
}

// takeSlotLocked admits n by a free slot, if slots alone hold calls back. Then a call that fits is admitted whatever the
// time is, and the clock, a third of what a free slot costs, is not read.
func (l *Limiter) takeSlotLocked(n *load, keeps bool) (p Permit, ok bool) {
	s := l.state
	if len(s.gauges) > 0 || s.limit > 0 && s.inFlight >= s.limit || s.paused > s.last || s.closed.cause != nil ||
		s.queue.head != nil || len(s.fronts) > 0 || l.governor != nil || !n.of.within(&s.most) {
		return Permit{}, false
	}
	l.countLocked(1, &n.of)
	if keeps {
		p = l.keepLocked(s.last, s.last, n)
	}
	return p, true
}
