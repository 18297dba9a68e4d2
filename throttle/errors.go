package throttle

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrLimited is matched by every *LimitedError.
	ErrLimited = errors.New("throttle: limited")
	// ErrCost is matched by every *CostError.
	ErrCost = errors.New("throttle: cost cannot be admitted")
)

// LimitedError says that a call was not admitted now but may be later.
type LimitedError struct {
	Limiter string // the limiter's name
	// RetryAfter is the earliest time that is worth another try; Forever
	// when time alone does not help and a call in flight has to end first.
	RetryAfter time.Duration
}

// Error names the limiter and the wait.
func (e *LimitedError) Error() string {
	if e.RetryAfter == Forever {
		return fmt.Sprintf("throttle: limiter %q: limited until a call ends", e.Limiter)
	}
	return fmt.Sprintf("throttle: limiter %q: limited, retry after %s", e.Limiter, e.RetryAfter)
}

// Is reports whether target is ErrLimited.
func (e *LimitedError) Is(target error) bool { return target == ErrLimited }

// CostError says that a call can never be admitted under the present limits:
// an amount is negative, above MaxAmount, or above a window's maximum.
type CostError struct {
	Limiter string
	Unit    Unit
	Amount  int64
	Max     int64  // the largest amount that could be admitted
	Window  Window // the window that is too small; zero for a bad amount
}

// Error names the unit, the amount and the most that is possible.
func (e *CostError) Error() string {
	if e.Window == (Window{}) {
		return fmt.Sprintf("throttle: limiter %q: a cost of %d %s is not between 0 and %d", e.Limiter, e.Amount, e.Unit, e.Max)
	}
	return fmt.Sprintf("throttle: limiter %q: a cost of %d %s never fits the window of %s: split the call or raise the limit",
		e.Limiter, e.Amount, e.Unit, e.Window)
}

// Is reports whether target is ErrCost.
func (e *CostError) Is(target error) bool { return target == ErrCost }
