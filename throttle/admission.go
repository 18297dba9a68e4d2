package throttle

import "time"

// hold is what keeps a call from going now.
type hold struct {
	wait  time.Duration // 0: nothing
	kind  BoundKind
	gauge int // if it is a window
}

// later is the one of the two that lasts longer.
func (h *hold) later(wait time.Duration, kind BoundKind, gauge int) {
	if wait > h.wait {
		*h = hold{wait, kind, gauge}
	}
}

// boundLocked is h for those outside.
func (l *Limiter) boundLocked(h hold) Bound {
	b := Bound{Kind: h.kind, Wait: h.wait}
	if h.kind == BoundByWindow {
		b.Window = Window{l.gauges[h.gauge].Window}
	}
	return b
}

// holdLocked is what holds n back at the head of the queue: the limits or,
// when these let it go, the governor. Buckets are asked as of the earlier
// instant from; credited is the instant from which they let it go.
func (l *Limiter) holdLocked(now, from instant, n *load) (h hold, credited instant) {
	h, credited = l.limitsHoldLocked(now, from, &n.of)
	if l.governor != nil {
		h = l.governedLocked(now, n.cost, h)
	}
	return h, credited
}

// governedLocked asks the governor about a call that the limits hold back by h, if at all.
func (l *Limiter) governedLocked(now instant, c Cost, h hold) hold {
	if h.wait > 0 {
		l.governor.Slack(l.clock.At(now))
	} else {
		h.later(l.governor.Admit(l.clock.At(now), c, l.inFlight), BoundByGovernor, 0)
	}
	return h
}

// limitsHoldLocked is what the pause, a window or the slots hold back.
func (l *Limiter) limitsHoldLocked(now, from instant, a *amounts) (h hold, credited instant) {
	h.later(l.paused-now, BoundByPause, 0)
	credited = from
	gauges := l.gauges // the loop does not look for them each time
	for i := range gauges {
		g := &gauges[i]
		n := a[g.Unit]
		if n == 0 {
			continue
		}
		if g.Bucket == nil {
			h.later(g.Wait(now, n), BoundByWindow, i)
			continue
		}
		if wait := g.Bucket.Wait(from, n); wait > 0 {
			h.later(from+wait-now, BoundByWindow, i)
			credited = max(credited, from+wait)
		}
	}
	if h.wait == 0 && l.limit > 0 && l.inFlight >= l.limit {
		h = hold{wait: Forever, kind: BoundByConcurrency}
	}
	return h, credited
}

// chargeLocked takes a from every window and counts the admission.
func (l *Limiter) chargeLocked(now, credited instant, a *amounts) {
	gauges := l.gauges
	for i := range gauges {
		g := &gauges[i]
		n := a[g.Unit]
		if n == 0 {
			continue
		}
		if g.Bucket != nil {
			g.Bucket.Take(credited, n)
		} else {
			g.Take(now, n)
		}
	}
	l.countLocked(1, a)
}

// countLocked counts n calls that were admitted, which cost a together.
func (l *Limiter) countLocked(n int64, a *amounts) {
	s := l.state
	s.seq += n
	s.total.add(a)
	s.stats.Admitted += n
}

// admitLocked lets n go. The permit is the zero Permit if it is not wanted.
func (l *Limiter) admitLocked(now, credited instant, n *load, keeps bool) (p Permit) {
	l.chargeLocked(now, credited, &n.of)
	if keeps {
		return l.keepLocked(now, credited, n)
	}
	if l.governor != nil {
		var a admission
		l.noteLocked(&a, now, credited, n)
		l.tellSentLocked(&a)
	}
	return p
}

// keepLocked makes the permit of a call that was charged.
func (l *Limiter) keepLocked(now, credited instant, n *load) Permit {
	r, p := l.recordLocked()
	l.noteLocked(&r.admission, now, credited, n)
	l.inFlight++
	if l.governor != nil {
		l.tellKeptLocked(&r.admission, p.slot)
	}
	return p
}

// afterExit is the pause after a governor has ended a goroutine that was to admit
// calls: it may do so every time.
const afterExit = time.Millisecond

// tellKeptLocked gives the slot back if the governor ends the goroutine.
func (l *Limiter) tellKeptLocked(a *admission, slot uint32) {
	told := false
	defer func() {
		if told {
			return
		}
		l.freeLocked(slot)
		if l.queue.head != nil || len(l.fronts) > 0 {
			l.wakeLocked(a.at, afterExit) // to serve the queue, which this goroutine was about to do
		}
	}()
	l.tellSentLocked(a)
	told = true
}

func (l *Limiter) tellSentLocked(a *admission) {
	var s Sent
	l.describe(&s, a)
	l.governor.OnSend(s.At, s)
}
