package providertest

import (
	"net/http"
	"time"
)

// Fault is the failure of one request; see [Config.Fault].
type Fault struct {
	// Status is the HTTP status, 200 to 599; any other is sent as 500.
	Status int
	// Body is sent as it is. If empty and Status is 400 or above, the body is an error of the dialect.
	Body string
	// Header is added to the answer. The default Content-Type is that of the body.
	Header http.Header
	// Delay is how long the header of the answer takes.
	Delay time.Duration
	// Break is how the answer breaks off. 0 means not at all.
	Break Break
	// Admit lets the limits judge the request and answers it as usual, after its Latency. Delay and Break
	// apply to that answer, and Header replaces fields of it, such as Retry-After. Status is that of the
	// event of [BreakError]; Body is ignored.
	Admit bool

	cause cause // if the status depends on the dialect
}

// Break is how an answer breaks off; in the body, after half of its bytes or events.
type Break uint8

// The ways to break off.
const (
	noBreak     Break = iota
	BreakHeader       // the connection is cut before the header
	BreakBody         // the connection is cut in the body
	BreakStall        // the body stalls until the client gives up
	BreakError        // a stream ends in an error event; any other body is cut
)

// QuotaExhausted returns the fault of an account without money: 429 with type insufficient_quota for
// OpenAI, 400 for Anthropic, 402 for others.
func QuotaExhausted() *Fault { return &Fault{cause: moneyGone} }

// Overloaded returns the fault of an overloaded provider: 529 for Anthropic, 503 for others.
func Overloaded() *Fault { return &Fault{cause: overloaded} }

// failure returns the error of the fault.
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
		return noBreak
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
