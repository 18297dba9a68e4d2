package group

import (
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// interior is what this package uses of a guard that others do not see.
type interior interface {
	Update(f func(now time.Time))
	Close(until time.Time, cause error)
	Exclude(until time.Time, over *throttle.CostError)
	Open(cause error)
	Closed() (until time.Time)
	Memory() (m reopening.Memory, cause error)
	Remember(m reopening.Memory, cause error)
	Resume()
	Once(c throttle.Cost) *guard.Call
	Patient(c throttle.Cost) *guard.Call
	Adopt(c throttle.Cost, began time.Time) (end func(adaptive.Feedback))
	Signal(h *adaptive.RateLimitHit)
}
