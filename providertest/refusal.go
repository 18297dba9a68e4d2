package providertest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Refusal is the limit that refused a request. Where several would, it is the
// one with the longest wait; RefusedConcurrency only when the others had room,
// and RefusedTooLarge before all, since no wait helps.
type Refusal uint8

// The limits that refuse.
const (
	NotRefused          Refusal = iota
	RefusedRate                 // Limits.Rate had no request left
	RefusedWindow               // Limits.Window was used up
	RefusedConcurrency          // Limits.Concurrency calls were in flight
	RefusedTokens               // Limits.Tokens had too few left
	RefusedInputTokens          // Limits.InputTokens had too few left
	RefusedOutputTokens         // Limits.OutputTokens had too few left
	RefusedTooLarge             // a limit on tokens holds too few even when it is full
)

// String returns "none", "rate", "window", "concurrency", "tokens", "input
// tokens", "output tokens" or "too large".
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
	case RefusedTokens:
		return "tokens"
	case RefusedInputTokens:
		return "input tokens"
	case RefusedOutputTokens:
		return "output tokens"
	case RefusedTooLarge:
		return "too large"
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
	at       time.Time
	wait     time.Duration // until rate, window and tokens admit the same request
	charged  Tokens        // what the request reserved or, when it is done, used
	quota    quota
	hasQuota bool
	tokens   [tokenLimits]quota // of each limit on tokens; its limit is 0 where there is none
}

// knowsWait reports whether a wait would help, and is known.
func (r Refusal) knowsWait() bool { return r != RefusedConcurrency && r != RefusedTooLarge }

// ceil returns d in whole units, rounded up.
func ceil(d, unit time.Duration) int64 { return int64((d + unit - 1) / unit) }

// tooMany is the body of a refusal. Its text gives away no number: the limits
// are hidden, and advice belongs in headers.
func tooMany(refusal Refusal, model string) *failure {
	f := &failure{status: http.StatusTooManyRequests, cause: tooManyRequests, kind: "requests", code: "rate_limit_exceeded"}
	switch refusal {
	case RefusedConcurrency:
		f.cause, f.kind = tooManyInFlight, "concurrency"
		f.message = fmt.Sprintf("Too many concurrent requests for %s. Wait until one of them has finished.", model)
	case RefusedTokens, RefusedInputTokens, RefusedOutputTokens:
		f.cause, f.kind = tooManyTokens, "tokens"
		f.message = fmt.Sprintf("Rate limit reached for %s on %s. Please try again later.", model, refusal)
	case RefusedTooLarge:
		f.cause, f.kind = tooLarge, "tokens"
		f.message = fmt.Sprintf("Request too large for %s on tokens. It must be reduced in order to run.", model)
	case NotRefused, RefusedRate, RefusedWindow:
		f.message = fmt.Sprintf("Rate limit reached for %s on requests. Please try again later.", model)
	}
	return f
}
