package throttle

import (
	"errors"
	"time"

	"github.com/headrace/headrace/event"
)

// PauseUntil admits no call before t. It never shortens a pause, and a t in the
// past changes nothing.
func (l *Limiter) PauseUntil(t time.Time) {
	var wait time.Duration
	l.update(func() {
		if until := l.clock.Until(t); until > l.last {
			l.paused, wait = max(l.paused, until), until-l.last
		}
	})
	if wait > 0 {
		l.tell(event.LimiterPaused, wait, "", nil)
	}
}

// Resume ends the pause.
func (l *Limiter) Resume() {
	l.update(func() { l.paused = 0 })
	l.tell(event.LimiterReopened, 0, "the pause was ended", nil)
}

// closing is a limiter that rejects every call or, with over, those that cost more than over.Max.
type closing struct {
	cause error   // nil: it is open
	until instant // it is open again from then on
	over  *excess // what the cause says; may be nil
}

type excess CostError

// reason is why no call is admitted now; nil if calls are.
func (c *closing) reason(now instant) error {
	if c.cause != nil && now >= c.until {
		*c = closing{}
	}
	if c.over != nil {
		return nil
	}
	return c.cause
}

// rejects is why a is not admitted now; nil if it is.
func (c *closing) rejects(now instant, a *amounts) error {
	err := c.reason(now)
	if c.over != nil && a[c.over.Unit] > c.over.Max {
		e := CostError(*c.over)
		e.Amount = a[e.Unit]
		err = &e
	}
	return err
}

// Close rejects all waiting and later calls with cause or, if it is nil, a
// general error, until Reopen. Calls in flight end as usual.
func (l *Limiter) Close(cause error) {
	l.update(func() { l.closeLocked(time.Time{}, cause) })
	l.tell(event.LimiterClosed, 0, "", cause)
}

// closeLocked closes until t or, if that is zero, until Reopen. Of several
// reasons the one that holds longest counts, the first of those that hold equally
// long.
func (l *Limiter) closeLocked(t time.Time, cause error) {
	until := Forever
	if !t.IsZero() {
		until = l.clock.Until(t)
	}
	if l.closed.reason(l.last) != nil && l.closed.until >= until {
		return
	}
	if cause == nil {
		cause = errClosed
	}
	l.closed, l.recheck = closing{cause: cause, until: until}, true
}

// excludeLocked rejects calls that cost more than over.Max until t, unless the limiter is closed.
func (l *Limiter) excludeLocked(t time.Time, over *CostError) {
	if l.closed.reason(l.last) == nil {
		l.closed, l.recheck = closing{over, l.clock.Until(t), (*excess)(over)}, true
	}
}

// Reopen ends Close. Limits, history and a pause stay.
func (l *Limiter) Reopen() {
	l.update(func() { l.closed = closing{} })
	l.tell(event.LimiterReopened, 0, "", nil)
}

var errClosed = errors.New("throttle: limiter closed")
