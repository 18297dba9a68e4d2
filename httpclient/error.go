package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is the error of every request of a [Client]. Its text, causes and fields, except Header and
// Body, hold no header, query value or userinfo of the request, even if the server repeats them.
//
// adaptive.AnswerIn finds status, header and body of a CodeStatus.
type Error struct {
	Code    Code
	Service string // Config.Service, or the host
	ID      string // of the request, as in event.Request
	Host    string // with its port, if one was given
	Method  string
	URL     string // without userinfo, fragment and query values
	Phase   Phase  // of the last attempt
	Elapsed time.Duration
	Attempt int // from 1; 0 if none was started

	StatusCode int         // of the response, if there was one
	Header     http.Header `json:"-"` // for CodeStatus; may hold secrets of the server
	Body       []byte      `json:"-"` // its first 64 KiB, for CodeStatus; may hold what was sent

	cause  error
	waited time.Duration // until the first attempt
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "httpclient: %s: %s %s: %s", e.Service, e.Method, e.URL, e.Code)
	if e.StatusCode != 0 {
		fmt.Fprintf(&b, ": status %d", e.StatusCode)
	}
	if e.Attempt > 0 || e.Elapsed > 0 { // otherwise it is of an answer that another client got
		fmt.Fprintf(&b, " (phase %s, attempt %d, after %s)", e.Phase, e.Attempt, e.Elapsed.Round(time.Microsecond))
	}
	if e.cause != nil {
		fmt.Fprintf(&b, ": %v", e.cause)
	}
	return b.String()
}

// Is matches the Code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// ErrorType returns the Code, for the attribute error.type of OpenTelemetry.
func (e *Error) ErrorType() string { return string(e.Code) }

// Unwrap returns the cause. A cause with a secret in its text is replaced by the redacted text.
func (e *Error) Unwrap() error { return e.cause }

// Timeout implements net.Error.
func (e *Error) Timeout() bool {
	switch e.Code {
	case CodeConnectTimeout, CodeHeaderTimeout, CodeReadTimeout:
		return true
	default:
		return timedOut(e.cause)
	}
}

// Final reports whether a retry cannot help: the request was cancelled, rejected on this side or
// redirected, its body failed, a body was too long, the proxy answered 4xx (except 408 and 429), or
// the client is closed. It is also true for CodeStatus, where the status decides. If it is false,
// resending a method that is not idempotent may still do harm. headrace.Transport uses it.
func (e *Error) Final() bool {
	switch e.Code {
	case CodeCanceled, CodeUnsent, CodeUpload, CodeBodyLimit, CodeRedirect, CodeStatus:
		return true
	default:
	}
	if p, ok := errors.AsType[*proxyError](e.cause); ok && p.final() {
		return true
	}
	return e.Phase == PhasePrepare || errors.Is(e.cause, ErrClosed) || isA[*resentError](e.cause) // net/http has resent that one itself
}
