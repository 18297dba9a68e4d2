package decide

import (
	"fmt"
	"time"
)

// UnavailableError is returned while the store is unavailable and the policy is closed.
type UnavailableError struct {
	Reason     Reason
	RetryAfter time.Duration // at least a second
	Cause      error         // not for callers: it may name hosts
}

// Error implements error.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("service: the store is unavailable (%s): retry after %s", e.Reason, e.RetryAfter)
}

// Unwrap returns Cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// PermitError is returned for a permit that is unknown, has expired, or has ended.
type PermitError struct {
	Problem string // unknown, expired or ended
}

// Error implements error.
func (e *PermitError) Error() string {
	return "service: the permit is " + e.Problem + ": settle or cancel each permit once, before it expires"
}
