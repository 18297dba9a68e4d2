package decide

import (
	"fmt"
	"time"
)

// UnavailableError is returned while the store is unavailable and the policy is closed, and for limits that the store
// cannot read.
type UnavailableError struct {
	Reason     Reason
	RetryAfter time.Duration // at least a second
	Cause      error         // not for callers: it may name hosts
	Unreadable *Check        // the store works, but cannot read the limits of this check; nil: it does not work
}

// Error implements error.
func (e *UnavailableError) Error() string {
	if c := e.Unreadable; c != nil {
		return fmt.Sprintf("service: the limits of %q of %s %q cannot be read: reset them", c.Resource, c.Scope, c.Identifier)
	}
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
