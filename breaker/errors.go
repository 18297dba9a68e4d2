package breaker

import (
	"errors"
	"fmt"
	"time"
)

// ErrOpen is matched by every *OpenError.
var ErrOpen = errors.New("breaker: open")

// OpenError says that a breaker refused a call. Nothing was sent.
type OpenError struct {
	Breaker string // the breaker's name
	State   State  // Open or HalfOpen

	// RetryAfter is when another try makes sense, always above zero. While the
	// breaker is Open it is exactly the time left until it lets a probe
	// through. While it is HalfOpen and all probes are under way nobody knows
	// when they end: then it is a tenth of Config.Open, a distance to ask
	// again at and no promise.
	RetryAfter time.Duration

	// Cause is the failure that opened the breaker. It is another call's error
	// and not this one's, so errors.Is and errors.As do not look into it.
	Cause error
}

// Error names the breaker, the wait and the last failure.
func (e *OpenError) Error() string {
	why := ""
	if e.State == HalfOpen {
		why = " with its probes under way"
	}
	if e.Cause == nil {
		return fmt.Sprintf("breaker: %q: %s%s, retry after %s", e.Breaker, e.State, why, e.RetryAfter)
	}
	return fmt.Sprintf("breaker: %q: %s%s, retry after %s; it opened because of: %v",
		e.Breaker, e.State, why, e.RetryAfter, e.Cause)
}

// Unwrap returns ErrOpen, and never Cause.
func (e *OpenError) Unwrap() error { return ErrOpen }
