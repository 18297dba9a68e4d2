package throttle

import (
	"time"
)

// earliestLocked is the least that a newcomer of cost a has to wait: until the
// pause is over and the windows have admitted what is ahead of it in any case: the
// queue of the limiter, or the line of a joint call. While calls are in flight, windows of other units than requests are left out
// if sure is set, since the calls may settle for less.
func (l *Limiter) earliestLocked(now instant, a *amounts, place int64, ahead *amounts, sure bool) time.Duration {
	wait := max(0, l.paused-now)
	for i := range l.gauges {
		g := &l.gauges[i]
		n := a[g.Unit]
		if n == 0 || sure && l.inFlight > 0 && Unit(g.Unit) != Requests {
			continue
		}
		if place == lastPlace {
			n += ahead[g.Unit]
		}
		wait = max(wait, g.After(now, n))
	}
	return wait
}

// limitedLocked is the error of a call that is held back and does not wait.
func (l *Limiter) limitedLocked(now instant, a *amounts, h hold, ahead *amounts) *LimitedError {
	e := &LimitedError{Limiter: l.name, RetryAfter: h.wait, Bound: l.boundLocked(h)}
	if l.waitingLocked() > 0 {
		e.RetryAfter = max(e.RetryAfter, l.earliestLocked(now, a, lastPlace, ahead, false))
	}
	if e.RetryAfter == Forever {
		e.RetryAfter = untilACallEnds
	}
	e.RetryAfter = min(max(e.RetryAfter, 1), longestRetryAfter)
	return e
}

const (
	// untilACallEnds is what a caller is told to wait where only the end of a call helps.
	untilACallEnds = time.Second
	// longestRetryAfter keeps what is put into an HTTP header within what clients take.
	longestRetryAfter = 24 * time.Hour
)
