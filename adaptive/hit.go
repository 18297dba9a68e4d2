package adaptive

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/reopening"
)

// ErrQuotaExhausted is the error of calls on a key after its quota or balance is
// used up. Circuit breakers ignore it.
var ErrQuotaExhausted error = quotaError{}

type quotaError struct{}

func (quotaError) Error() string { return "adaptive: quota exhausted" }

// RateLimited tells a circuit breaker that this is no failure.
func (quotaError) RateLimited() bool { return true }

// MaxRetryAfter is the longest Retry-After that is simply waited out: 10 minutes. A longer one
// ends all calls with a *RateLimitHit, unless guard.Policy.MaxWait is at least as long, and
// one call probes it after 1, 2, 4, ... 60 minutes.
const MaxRetryAfter = reopening.Longest

// RateLimitHit is a call that the provider rejected for its rate. Your code may
// return one, wrapped or not, and the call is sent again when the guard allows
// it. It is the final error only if waiting was given up.
type RateLimitHit struct {
	Kind       Kind
	RetryAfter time.Duration // 0: not given; 24 h, the most that a guard returns: at least that
	Scope      string        // the key; default the guard's name
	Source     string        // such as "status 429"
	SentAt     time.Time     // when the call was admitted
	Cause      error         // the provider's error

	GivenUp bool // a guard gave up waiting; the call is not sent again
}

// Error implements error.
func (h *RateLimitHit) Error() string {
	var b strings.Builder
	b.WriteString("adaptive: rate limit hit")
	if h.Scope != "" {
		fmt.Fprintf(&b, " on %q", h.Scope)
	}
	if h.Kind != UnknownKind {
		fmt.Fprintf(&b, " (%s)", h.Kind)
	}
	switch {
	case h.RetryAfter >= reopening.MostSaid:
		fmt.Fprintf(&b, ", retry after at least %s", h.RetryAfter)
	case h.RetryAfter > 0:
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

// RateLimited marks an error that a circuit breaker ignores.
func (h *RateLimitHit) RateLimited() bool { return true }

// Unwrap returns Cause.
func (h *RateLimitHit) Unwrap() error { return h.Cause }

// Refused reports whether err is how a guard ends a call that the provider rejected:
// with a *RateLimitHit or ErrQuotaExhausted. Such a call was not processed. Methods
// of err may panic.
func Refused(err error) (yes bool) {
	defer survive()
	return errors.Is(err, ErrQuotaExhausted) || errors.As(err, new(*RateLimitHit))
}

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
