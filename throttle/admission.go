package throttle

import "time"

// waitLocked is how long c, at the head of the queue, has to wait: for the
// gate, for every window, for a slot and, when all of these let it go, for
// the governor.
func (l *Limiter) waitLocked(now instant, c Cost) time.Duration {
	wait := max(0, l.paused-now)
	for i := range l.gauges {
		g := &l.gauges[i]
		if n := c.Of(g.unit); n > 0 {
			wait = max(wait, g.meter.wait(now, n))
		}
	}
	if wait == 0 && l.limit > 0 && l.inFlight >= l.limit {
		wait = Forever
	}
	if l.governor == nil {
		return wait
	}
	if wait > 0 {
		l.governor.Slack(l.clock.At(now))
		return wait
	}
	return max(0, l.governor.Admit(l.clock.At(now), c, l.inFlight))
}

// chargeLocked takes c from every window and notes the admission.
func (l *Limiter) chargeLocked(now instant, c Cost) Sent {
	for i := range l.gauges {
		g := &l.gauges[i]
		if n := c.Of(g.unit); n > 0 {
			g.meter.take(now, n)
		}
	}
	l.seq++
	l.total = l.total.plus(c)
	s := Sent{Seq: l.seq, At: l.clock.At(now), InFlight: l.inFlight, Cost: c, Total: l.total}
	if l.governor != nil {
		l.governor.OnSend(s.At, s)
	}
	l.stats.Admitted++
	return s
}

func (l *Limiter) admitLocked(now instant, c Cost, keeps bool) Permit {
	s := l.chargeLocked(now, c)
	if !keeps {
		return Permit{}
	}
	return l.permitLocked(s)
}

// pumpLocked serves the queue from its head for as long as there is capacity.
func (l *Limiter) pumpLocked(now instant) {
	for w := l.queue.head; w != nil; w = l.queue.head {
		err := l.refusalLocked(now, w.cost)
		if err == nil {
			if wait := l.waitLocked(now, w.cost); wait > 0 {
				l.wakeLocked(wait)
				return
			}
			w.permit = l.admitLocked(now, w.cost, w.keeps)
		}
		l.serveLocked(now, w, err)
	}
	if l.governor != nil {
		l.governor.Slack(l.clock.At(now))
	}
}

// serveLocked takes w out of the queue and lets its caller go on, with the permit in w or with err.
func (l *Limiter) serveLocked(now instant, w *waiter, err error) {
	w.err = err
	l.queue.remove(w)
	l.stats.addWait(now - w.since)
	w.ready <- struct{}{}
}

// wakeLocked sets the one timer, which is for the head of the queue. A timer
// that fires for a head that is gone finds a queue that needs nothing.
func (l *Limiter) wakeLocked(wait time.Duration) {
	switch {
	case wait == Forever && l.timer != nil:
		l.timer.Stop()
	case wait == Forever:
	case l.timer == nil:
		l.timer = l.clock.AfterFunc(wait, func() { l.Update(nil) })
	default:
		l.timer.Reset(wait)
	}
}
