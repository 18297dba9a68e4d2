package adaptive

import (
	"fmt"
	"strings"
	"time"
)

// ErrQuotaExhausted is the error of every call on a key whose quota or balance
// is used up: of the call that found out and, unsent, of all that follow. It
// has the method RateLimited of a RateLimitHit, because who has no money left
// says nothing about whether the provider works.
var ErrQuotaExhausted error = quotaError{}

type quotaError struct{}

func (quotaError) Error() string { return "adaptive: quota exhausted" }

// RateLimited tells a circuit breaker that this is no failure.
func (quotaError) RateLimited() bool { return true }

// MaxRetryAfter is the longest Retry-After that a call waits for. Longer ones
// are returned to the caller as a *RateLimitHit.
const MaxRetryAfter = 10 * time.Minute

// RateLimitHit says that a provider refused a call for rate. User code may
// return one, wrapped or not, to have the call sent again once the guard
// allows it. It is an item's final error only when waiting was given up.
type RateLimitHit struct {
	Kind       Kind
	RetryAfter time.Duration // what the provider asked for; 0: it did not say
	Scope      string        // the key that was refused, by default the guard's name
	Source     string        // who said so, such as "status 429"
	SentAt     time.Time     // when the refused call was admitted
	Cause      error         // the provider's error, if there is one

	GivenUp bool // a guard has waited for this limit and given up; the call is not sent again
}

// Error says which key refused what, and how long it asked to wait.
func (h *RateLimitHit) Error() string {
	var b strings.Builder
	b.WriteString("adaptive: rate limit hit")
	if h.Scope != "" {
		fmt.Fprintf(&b, " on %q", h.Scope)
	}
	if h.Kind != UnknownKind {
		fmt.Fprintf(&b, " (%s)", h.Kind)
	}
	if h.RetryAfter > 0 {
		fmt.Fprintf(&b, ", retry after %s", h.RetryAfter)
	}
	cause := h.Cause
	if own, ok := cause.(*RateLimitHit); ok && own != nil { //nolint:errorlint // the same said by user code
		cause = own.Cause
	}
	if cause != nil {
		fmt.Fprintf(&b, ": %v", cause)
	}
	return b.String()
}

// RateLimited tells a circuit breaker that this is no failure.
func (h *RateLimitHit) RateLimited() bool { return true }

// Unwrap returns Cause.
func (h *RateLimitHit) Unwrap() error { return h.Cause }

// hitIn returns the outermost hit in err, or nil.
func hitIn(err error) (found *RateLimitHit) {
	walk(err, func(e error) {
		if h, ok := e.(*RateLimitHit); ok && found == nil { //nolint:errorlint // walk visits each error by itself
			found = h
		}
	})
	return found
}

// decided reports whether a guard has given its final verdict in err: it gave up
// waiting on a hit, or found the quota used up.
func decided(err error) bool {
	if h := hitIn(err); h != nil && h.GivenUp {
		return true
	}
	closed := false
	walk(err, func(e error) { closed = closed || e == ErrQuotaExhausted }) //nolint:errorlint // walk visits each error by itself
	return closed
}
