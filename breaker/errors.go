package breaker

import (
	"errors"
	"fmt"
	"time"
)

// ErrOpen matches every *OpenError.
var ErrOpen = errors.New("breaker: open")

// OpenError reports that a breaker rejected a call. Nothing was sent.
type OpenError struct {
	Breaker string // the breaker's name
	State   State  // Open or HalfOpen

	// RetryAfter is when to try again, between 1 ns and 24 h. If State is Open, it is
	// the time left until a probe is admitted. If it is HalfOpen, all probes are in
	// progress, and it is a tenth of Config.Open.
	RetryAfter time.Duration

	// Cause is the failure that opened the breaker. It is the error of another call, so
	// errors.Is and errors.As do not match it.
	Cause error
}

// Error implements error.
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

// Unwrap returns ErrOpen.
func (e *OpenError) Unwrap() error { return ErrOpen }
