package providertest

import (
	"net/http"
	"time"
)

// Fault is what goes wrong with one request; see [Config.Fault]. Most are an
// answer that has nothing to do with the limits. With Admit, it is the true
// answer that is spoiled.
type Fault struct {
	// Status is the HTTP status, from 200 to 599; any other is sent as 500.
	Status int
	// Body is sent as it is. If it is empty and the Status is 400 or above, the
	// body is an error of the dialect that fits.
	Body string
	// Header is added to the answer. The Content-Type is application/json, or
	// that of the dialect's errors, unless it says otherwise.
	Header http.Header
	// Delay is how long the client waits for the header of the answer. The
	// default is not at all.
	Delay time.Duration
	// Break is how the answer breaks off. The default, [NoBreak], is not at all.
	Break Break
	// Admit lets the limits judge the request, and answers it truly, after its
	// Latency. Delay and Break spoil that answer, and Header replaces fields of
	// it: a Retry-After that lies. Status is that of the event that [BreakError]
	// sends, and Body is left out.
	Admit bool

	cause cause // of one whose status depends on the dialect
}

// Break is how an answer breaks off.
type Break uint8

// The ways to break off. In the body is in its middle, after half of its bytes
// or of a stream's events.
const (
	NoBreak     Break = iota
	BreakHeader       // the connection is cut before the header
	BreakBody         // the connection is cut in the body
	BreakStall        // nothing more comes in the body until the client gives up
	BreakError        // a stream ends in an error event; any other body is cut
)

// QuotaExhausted returns the fault of an account that has no money left, which no
// retry will cure: of OpenAI a 429 of type insufficient_quota, of Anthropic a 400,
// of others a 402.
func QuotaExhausted() *Fault { return &Fault{cause: moneyGone} }

// Overloaded returns the fault of a provider that is full as a whole: a 529 of
// Anthropic, a 503 of others.
func Overloaded() *Fault { return &Fault{cause: overloaded} }

// failure returns the error that the fault stands for.
func (f *Fault) failure(s speech) *failure {
	status := f.Status
	switch {
	case status == 0 && f.cause != badRequest:
		status = s.status(f.cause)
	case status < 200 || status > 599:
		status = http.StatusInternalServerError
	}
	bad := faultBody(status)
	if f.cause == moneyGone {
		bad = noMoney(status)
	}
	return bad
}

// breaks is nil-safe: no fault breaks nothing.
func (f *Fault) breaks() Break {
	if f == nil {
		return NoBreak
	}
	return f.Break
}

func noMoney(status int) *failure {
	return &failure{
		status: status, cause: moneyGone, kind: "insufficient_quota", code: "insufficient_quota",
		message: "You exceeded your current quota, please check your plan and billing details.",
	}
}

// statusOverloaded is what some providers send when they have no capacity.
const statusOverloaded = 529

// faultBody returns the usual error of a status.
func faultBody(status int) *failure {
	f := &failure{status: status, cause: serverFault, kind: "server_error", message: "The server had an error while processing your request."}
	switch {
	case status == http.StatusPaymentRequired:
		return noMoney(status)
	case status == http.StatusTooManyRequests:
		f.cause = tooManyRequests
		f.kind, f.code, f.message = "requests", "rate_limit_exceeded", "Rate limit reached. Please try again later."
	case status == http.StatusServiceUnavailable:
		f.cause = overloaded
		f.code, f.message = "server_is_overloaded", "The engine is currently overloaded, please try again later."
	case status == statusOverloaded:
		f.cause = overloaded
		f.kind, f.message = "overloaded_error", "Overloaded"
	case status < 500:
		f.cause = badRequest
		f.kind, f.message = "invalid_request_error", "Your request was rejected."
	}
	return f
}
