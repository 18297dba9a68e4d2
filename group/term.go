package group

import (
	"errors"
	"sync/atomic"
	"time"
)

var errTerm = errors.New("group: the term of the leader is over")

// term is how long a leader that was elected may lead. It is safe for concurrent use.
type term struct{ until atomic.Pointer[time.Time] }

// extend has the term end at until.
func (t *term) extend(until time.Time) { t.until.Store(&until) }

// over reports whether the term has ended. A nil term does not end. The monotonic clock stands still
// while a machine is suspended, so the wall clock counts too.
func (t *term) over(now time.Time) bool {
	if t == nil {
		return false
	}
	until := t.until.Load()
	return until == nil || !now.Before(*until) || !now.Round(0).Before(until.Round(0))
}
