// Package replay decides which requests may be retried: by the outcome of an attempt,
// by the method, and by whether the body can be had a second time. It neither
// waits nor sends, and knows no clock.
package replay

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// StatusOverloaded is what Anthropic and others answer when the service is full. IANA does not know it.
const StatusOverloaded = 529

// Outcome is what became of an attempt.
type Outcome uint8

// The outcomes.
const (
	Final   Outcome = iota // an answer, or an error that would only come again
	Unsent                 // nothing reached the other side
	Refused                // the other side says that it has done nothing
	Failed                 // the other side may have done it
)

// OfStatus judges an answer. told says whether it tells, in a form that can be
// read, how long to wait: that makes a refusal of a 503.
func OfStatus(status int, told bool) Outcome {
	switch {
	case status == http.StatusTooManyRequests, status == StatusOverloaded,
		status == http.StatusServiceUnavailable && told:
		return Refused
	case status == http.StatusRequestTimeout, status >= http.StatusInternalServerError:
		return Failed
	default:
		return Final
	}
}

// OfError judges an attempt without an answer. unsent says that there was, for
// sure, no connection to send it on. A certificate that is not trusted will not
// be a moment later, a cancelled call must not be retried, and an error with a method Final decides for itself.
func OfError(err error, unsent bool) (o Outcome) {
	defer func() {
		if recover() != nil {
			o = Final
		}
	}()
	known, ok := errors.AsType[interface {
		error
		Final() bool
	}](err)
	switch {
	case ok && known.Final(), errors.As(err, new(*tls.CertificateVerificationError)), errors.Is(err, context.Canceled):
		return Final
	case unsent:
		return Unsent
	default:
		return Failed
	}
}

// Allows reports whether a request with this outcome may be sent again
// without the risk of doing it twice.
func (o Outcome) Allows(req *http.Request) bool {
	switch o {
	case Unsent, Refused:
		return true
	case Failed:
		return Idempotent(req)
	default:
		return false
	}
}

// Reads reports whether a method only reads, by RFC 9110, section 9.2.1.
func Reads(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// Stored reports whether an answer is an object that an earlier call has made, such
// as a batch: one with an id, to a method that only reads. The tokens in its usage
// were used by that call.
func Stored(method string, body []byte) bool {
	return Reads(method) && jsonwalk.TextOf(body, "id") != nil
}

// Idempotent goes by RFC 9110, section 9.2.2, and by the fields that net/http
// knows too. Methods are compared as they are: RFC 9110 has them in capitals.
func Idempotent(req *http.Request) bool {
	if Reads(req.Method) || req.Method == http.MethodPut || req.Method == http.MethodDelete {
		return true
	}
	return req.Header.Get("Idempotency-Key") != "" || req.Header.Get("X-Idempotency-Key") != ""
}
