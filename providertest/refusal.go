package providertest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Refusal is the limit that refused a request. Where several would, it is the
// one with the longest wait; RefusedConcurrency only when the others had room.
type Refusal uint8

// The limits that refuse.
const (
	NotRefused         Refusal = iota
	RefusedRate                // Limits.Rate had no request left
	RefusedWindow              // Limits.Window was used up
	RefusedConcurrency         // Limits.Concurrency calls were in flight
)

// String returns "none", "rate", "window" or "concurrency".
func (r Refusal) String() string {
	switch r {
	case NotRefused:
		return "none"
	case RefusedRate:
		return "rate"
	case RefusedWindow:
		return "window"
	case RefusedConcurrency:
		return "concurrency"
	}
	return "Refusal(" + strconv.Itoa(int(r)) + ")"
}

// RetryAfter is what a 429 for rate says about waiting. The time is true when
// the refusal is sent: who waits that long is admitted, unless others came
// first. A refusal for concurrency never says, since nobody knows when a call
// will end.
type RetryAfter uint8

// The forms of advice.
const (
	// NoRetryAfter sends no advice.
	NoRetryAfter RetryAfter = iota
	// RetryAfterSeconds sends Retry-After, in seconds rounded up.
	RetryAfterSeconds
	// RetryAfterMillis sends retry-after-ms too, in milliseconds rounded up.
	RetryAfterMillis
)

func (r RetryAfter) validate() error {
	if r > RetryAfterMillis {
		return &ConfigError{Field: "RetryAfter", Problem: "must be NoRetryAfter, RetryAfterSeconds or RetryAfterMillis"}
	}
	return nil
}

// advice is what the server may tell about its limits, true at one instant.
type advice struct {
	wait     time.Duration // until rate and window admit a request
	quota    quota
	hasQuota bool
}

// setQuota adds the rate-limit headers.
func (a advice) setQuota(h http.Header) {
	if !a.hasQuota {
		return
	}
	h.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(a.quota.limit))
	h.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(a.quota.remaining))
	h.Set("X-Ratelimit-Reset-Requests", (time.Duration(ceil(a.quota.reset, time.Millisecond)) * time.Millisecond).String())
}

// setRetryAfter adds the wait in the form that the configuration asks for.
func (a advice) setRetryAfter(h http.Header, form RetryAfter) {
	if form == RetryAfterMillis {
		h.Set("Retry-After-Ms", strconv.FormatInt(ceil(a.wait, time.Millisecond), 10))
	}
	if form != NoRetryAfter {
		h.Set("Retry-After", strconv.FormatInt(ceil(a.wait, time.Second), 10))
	}
}

// ceil returns d in whole units, rounded up.
func ceil(d, unit time.Duration) int64 { return int64((d + unit - 1) / unit) }

// tooMany is the body of a refusal. Its text gives away no number: the limits
// are hidden, and advice belongs in headers.
func tooMany(refusal Refusal, model string) *failure {
	f := &failure{status: http.StatusTooManyRequests, kind: "requests", code: "rate_limit_exceeded"}
	if refusal == RefusedConcurrency {
		f.kind = "concurrency"
		f.message = fmt.Sprintf("Too many concurrent requests for %s. Wait until one of them has finished.", model)
		return f
	}
	f.message = fmt.Sprintf("Rate limit reached for %s on requests. Please try again later.", model)
	return f
}
