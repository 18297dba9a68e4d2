package throttle

import (
	"time"
)

// earliestLocked is the least that a newcomer of cost a has to wait: until the
// pause is over and the windows have admitted what is ahead of it in any case.
// While calls are in flight, windows of other units than requests are left out
// if sure is set, since the calls may settle for less.
func (l *Limiter) earliestLocked(now instant, a *amounts, place int64, own *line, sure bool) time.Duration {
	wait := max(0, l.paused-now)
	var ahead amounts
	if place == lastPlace {
		ahead = l.aheadLocked(own)
	}
	for i := range l.gauges {
		g := &l.gauges[i]
		n := a[g.Unit]
		if n == 0 || sure && l.inFlight > 0 && Unit(g.Unit) != Requests {
			continue
		}
		wait = max(wait, g.After(now, n+ahead[g.Unit]))
	}
	return wait
}

// aheadLocked is the cost of the calls that a newcomer cannot overtake: those in
// its own line, or in the queue of the limiter if own is nil, and the first of
// each other line that waits for nothing but this limiter.
func (l *Limiter) aheadLocked(own *line) amounts {
	sum := l.queue.sum
	if own != nil {
		sum = own.sum
		if w := l.queue.head; w != nil && w.order != 0 {
			sum.add(&w.load.of)
		}
	}
	for _, p := range l.fronts {
		if j := p.joint; j.line != own && j.blocked == l && j.parts[len(j.parts)-1].limiter == l {
			sum.add(&j.load.of)
		}
	}
	return sum
}

// limitedLocked is the error of a call that is held back and does not wait.
func (l *Limiter) limitedLocked(now instant, a *amounts, h hold, own *line) *LimitedError {
	e := &LimitedError{Limiter: l.name, RetryAfter: h.wait, Bound: l.boundLocked(h)}
	if l.waitingLocked() > 0 {
		e.RetryAfter = max(e.RetryAfter, l.earliestLocked(now, a, lastPlace, own, false))
	}
	if e.RetryAfter == Forever {
		e.RetryAfter = untilACallEnds
	}
	e.RetryAfter = min(max(e.RetryAfter, 1), longestRetryAfter)
	return e
}

const (
	// untilACallEnds is the wait returned to a caller if only the end of another call helps.
	untilACallEnds = time.Second
	// longestRetryAfter keeps what is put into an HTTP header within what clients take.
	longestRetryAfter = 24 * time.Hour
)
