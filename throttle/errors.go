package throttle

import (
	"context"
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

// LimitedError is the error for a call that is not admitted now but may be
// later.
type LimitedError struct {
	Limiter string // the limiter's name
	// RetryAfter is when to try again, behind the queue: between 1 ns and 24 h,
	// so it fits an HTTP header. It is 1 s if only the end of a call helps;
	// Bound.Wait is Forever then.
	RetryAfter time.Duration
	Bound      Bound // what holds it back
}

// Error implements error.
func (e *LimitedError) Error() string {
	by := ""
	if e.Bound.Kind != NotBound {
		by = " by " + e.Bound.name()
	}
	if e.Bound.Wait == Forever {
		return fmt.Sprintf("throttle: limiter %q: limited%s until a call ends", e.Limiter, by)
	}
	return fmt.Sprintf("throttle: limiter %q: limited%s, retry after %s", e.Limiter, by, rounded(e.RetryAfter))
}

// rounded is d for a text: up to the next millisecond, or second if it is long.
func rounded(d time.Duration) time.Duration {
	unit := time.Millisecond
	if d > 10*time.Second {
		unit = time.Second
	}
	return (d + unit - 1).Truncate(unit)
}

// Is matches ErrLimited.
func (e *LimitedError) Is(target error) bool { return target == ErrLimited }

// RateLimited marks an error that a circuit breaker ignores.
func (e *LimitedError) RateLimited() bool { return true }

// CostError is the error for a call that can never be admitted under the limits
// in force: an amount is negative, above MaxAmount, or above a window's
// maximum.
type CostError struct {
	Limiter string
	Unit    Unit
	Amount  int64
	Max     int64  // the largest amount allowed
	Window  Window // that is too small; zero for a bad amount
}

// Error implements error.
func (e *CostError) Error() string {
	if e.Window == (Window{}) {
		return fmt.Sprintf("throttle: limiter %q: a cost of %d %s is not between 0 and %d", e.Limiter, e.Amount, e.Unit, e.Max)
	}
	return fmt.Sprintf("throttle: limiter %q: a cost of %d %s never fits the window of %s: split the call or raise the limit",
		e.Limiter, e.Amount, e.Unit, e.Window)
}

// RateLimited marks an error that a circuit breaker ignores.
func (e *CostError) RateLimited() bool { return true }

// Is matches ErrCost.
func (e *CostError) Is(target error) bool { return target == ErrCost }

// DeadlineError is the error for a call that was not queued because its context
// ends before the earliest possible admission. It matches ErrLimited and
// context.DeadlineExceeded.
type DeadlineError struct {
	Limiter string
	Wait    time.Duration // until the earliest possible admission
	Left    time.Duration // until the context's deadline
}

// Error implements error.
func (e *DeadlineError) Error() string {
	return fmt.Sprintf("throttle: limiter %q: the earliest admission is in %s, but the context ends in %s", e.Limiter, e.Wait, e.Left)
}

// Is matches ErrLimited.
func (e *DeadlineError) Is(target error) bool { return target == ErrLimited }

// RateLimited marks an error that a circuit breaker ignores.
func (e *DeadlineError) RateLimited() bool { return true }

// Unwrap returns context.DeadlineExceeded.
func (e *DeadlineError) Unwrap() error { return context.DeadlineExceeded }
