package group

import (
	"errors"
	"sync/atomic"
	"time"
)

var errTerm = errors.New("group: the term of the leader is over")

// term is how long a leader may lead without a sign that it still does. It is safe for concurrent use.
type term struct{ until atomic.Pointer[time.Time] }

// extend has the term end at until.
func (t *term) extend(until time.Time) { t.until.Store(&until) }

// over reports whether the term has ended. A nil term does not end.
func (t *term) over(now time.Time) bool { return t != nil && t.ended(now, now.Round(0)) }

// ended is over by two clocks: the monotonic one stands still while a machine is suspended.
func (t *term) ended(now, wall time.Time) bool {
	until := t.until.Load()
	return until == nil || !now.Before(*until) || !wall.Before(until.Round(0))
}
