package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ErrClosed is in the tree of the errors of a client that was closed.
var ErrClosed = errors.New("httpclient: the client is closed")

// Error is how every request of a [Client] fails. Its text, its fields but for Header and Body, and its causes hold
// no header, no value of the query and no userinfo of the request, also where the other side repeats them.
//
// It has the shape of the errors of SDKs, so that adaptive.AnswerIn finds status, header and body of a CodeStatus.
type Error struct {
	Code    Code
	Service string // Config.Service, or the host
	ID      string // of the request, as in event.Request
	Host    string // with its port, if one was given
	Method  string
	URL     string // without userinfo, fragment and the values of the query
	Phase   Phase  // of the last attempt
	Elapsed time.Duration
	Attempt int // which attempt failed, from 1; 0: none was begun

	StatusCode int         // of the answer, if there was one
	Header     http.Header `json:"-"` // of the answer, for CodeStatus; may hold secrets of the other side
	Body       []byte      `json:"-"` // its first 64 KiB, for CodeStatus; may hold what was sent

	cause  error
	waited time.Duration // until the first attempt
}

// Error says what failed, where and after how long, in one line.
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

// Is reports whether target is the error's Code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// ErrorType returns the Code as OpenTelemetry wants it for the attribute error.type.
func (e *Error) ErrorType() string { return string(e.Code) }

// Unwrap returns the cause, or nil. A cause whose text held a secret is replaced by one that is only its text,
// without it.
func (e *Error) Unwrap() error { return e.cause }

// Timeout reports whether something took too long, as net.Error has it.
func (e *Error) Timeout() bool {
	switch e.Code {
	case CodeConnectTimeout, CodeHeaderTimeout, CodeReadTimeout:
		return true
	default:
		return timedOut(e.cause)
	}
}

// Final reports whether the same request would only fail again, or nobody wants another attempt: it was cancelled,
// refused on this side or redirected, its own body failed, a body was too long, the proxy refused with 4xx (but 408 and
// 429), or the client is closed; so is what has an answer, whose status tells. Retry and headrace.Transport go by it.
// When it is false, a method that is not idempotent may still do harm twice: see Retry.
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
