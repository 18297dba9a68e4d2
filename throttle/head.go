package throttle

import "time"

// maxLateness bounds what a bucket is credited for a timer that fired late.
const maxLateness = 10 * time.Millisecond

// The head of the queue waits on one timer, which fires late: by a
// millisecond at best. A bucket that refills in less is full again long
// before, and what overflows in between would be lost, so that 20,000 calls
// a second became 1,000. So the head is served as of the instant that its
// timer was set for, and those behind it as of the instants that follow from it.

// pumpLocked serves the queue from its head for as long as there is capacity.
func (l *Limiter) pumpLocked(now instant) {
	if len(l.heads) > 0 {
		l.pumpFrontsLocked(now)
		return
	}
	l.ahead = nil // it refers to joint calls that no longer wait
	from := l.creditLocked(now)
	for w := l.queue.head; w != nil; w = l.queue.head {
		err := l.refusalLocked(now, &w.load.of)
		if err == nil {
			h, credited := l.holdLocked(now, max(from, w.since), &w.load)
			if h.wait > 0 {
				l.wakeLocked(now, h.wait)
				return
			}
			from = credited
			l.lent = max(l.lent, now-credited)
			w.permit = l.admitLocked(now, credited, &w.load, w.keeps)
		}
		l.serveLocked(now, w, err)
	}
	l.due = Forever
	if l.governor != nil {
		l.governor.Slack(l.clock.At(now))
	}
}

// creditLocked is the instant as of which a bucket serves those that waited.
func (l *Limiter) creditLocked(now instant) instant {
	if l.guard != 0 {
		return now
	}
	return max(min(l.due, now), now-maxLateness, l.charged)
}

// serveLocked takes w out of the queue and lets its caller go on, with the permit in w or with err.
func (l *Limiter) serveLocked(now instant, w *waiter, err error) {
	w.err, w.waited = err, now-w.since
	l.queue.remove(w)
	l.stats.addWait(w.waited)
	w.ready <- struct{}{}
}

// wakeLocked sets the one timer, which is for the head of the queue. A timer
// that fires for a head that is gone finds a queue that needs nothing.
func (l *Limiter) wakeLocked(now instant, wait time.Duration) {
	if wait == Forever {
		l.due = Forever
		if l.timer != nil {
			l.timer.Stop()
		}
		return
	}
	l.due = now + wait
	if l.timer == nil {
		l.timer = l.clock.AfterFunc(wait, func() { l.update(func() {}) })
	} else {
		l.timer.Reset(wait)
	}
}
