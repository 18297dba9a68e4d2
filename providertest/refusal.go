package providertest

import (
	"fmt"
	"net/http"
	"time"
)

// reason is the limit that rejected a request. Where several would, it is the
// one with the longest wait; refusedConcurrency only when the others had room,
// and refusedTooLarge before all, since no wait helps.
type reason string

const (
	notRefused          reason = ""
	refusedRate         reason = "rate"
	refusedWindow       reason = "window"
	refusedConcurrency  reason = "concurrency"
	refusedTokens       reason = "tokens"
	refusedInputTokens  reason = "input tokens"
	refusedOutputTokens reason = "output tokens"
	refusedTooLarge     reason = "too large" // for a limit on tokens, even when it is full
)

// RetryAfter is the advice in a 429 for rate. The time is exact when it is sent: a client that waits
// as long is admitted, unless others came first. A rejection for concurrency has no advice.
type RetryAfter uint8

// The forms of advice.
const (
	noRetryAfter RetryAfter = iota
	// RetryAfterSeconds sends Retry-After, in seconds rounded up.
	RetryAfterSeconds
	// RetryAfterMillis sends retry-after-ms too, in milliseconds rounded up.
	RetryAfterMillis
)

func (r RetryAfter) validate() error {
	if r > RetryAfterMillis {
		return &configError{Field: "RetryAfter", Problem: "must be 0, RetryAfterSeconds or RetryAfterMillis"}
	}
	return nil
}

// advice is what the server may declare about its limits, true at one instant.
type advice struct {
	at       time.Time
	wait     time.Duration // until rate, window and tokens admit the same request
	charged  Tokens        // what the request reserved or, when it is done, used
	quota    quota
	hasQuota bool
	tokens   [tokenLimits]quota // of each limit on tokens; its limit is 0 where there is none
}

// knowsWait reports whether a wait would help, and is known.
func (r reason) knowsWait() bool { return r != refusedConcurrency && r != refusedTooLarge }

// ceil returns d in whole units, rounded up.
func ceil(d, unit time.Duration) int64 { return int64((d + unit - 1) / unit) }

// tooMany is the body of a refusal. Its text gives away no number: the limits
// are hidden, and advice belongs in headers.
func tooMany(refusal reason, model string) *failure {
	f := &failure{status: http.StatusTooManyRequests, cause: tooManyRequests, kind: "requests", code: "rate_limit_exceeded"}
	switch refusal {
	case refusedConcurrency:
		f.cause, f.kind = tooManyInFlight, "concurrency"
		f.message = fmt.Sprintf("Too many concurrent requests for %s. Wait until one of them has finished.", model)
	case refusedTokens, refusedInputTokens, refusedOutputTokens:
		f.cause, f.kind = tooManyTokens, "tokens"
		f.message = fmt.Sprintf("Rate limit reached for %s on %s. Please try again later.", model, refusal)
	case refusedTooLarge:
		f.cause, f.kind = tooLarge, "tokens"
		f.message = fmt.Sprintf("Request too large for %s on tokens. It must be reduced in order to run.", model)
	case notRefused, refusedRate, refusedWindow:
		f.message = fmt.Sprintf("Rate limit reached for %s on requests. Please try again later.", model)
	}
	return f
}
