package headrace

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inside"
)

// redacted returns u without its user information and query, which may be secret.
func redacted(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return clean.String()
}

// failure is an error of this package for a request.
type failure struct {
	method, url string
	err         error
	ended       error // Err of the request's context, if that is why: the cause may be another error
}

// refusal is a response that is the error of an attempt.
type refusal struct {
	text, kind string
}

func (r *refusal) Error() string { return r.text }

// ErrorType is for the attribute error.type of OpenTelemetry, which holds the status
// according to the conventions for HTTP.
func (r *refusal) ErrorType() string { return r.kind }

// refused is the error of a response with a verdict on it.
func refused(text string, status int, v adaptive.Verdict) *refusal {
	switch {
	case status >= http.StatusBadRequest:
		return &refusal{text, strconv.Itoa(status)}
	case v == adaptive.Hit: // which no status says
		return &refusal{text, "rate_limited"}
	}
	return &refusal{text, v.String()}
}

func (f *failure) Error() string { return "headrace: " + f.method + " " + f.url + ": " + f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// Is matches context.Canceled and context.DeadlineExceeded besides the cause.
func (f *failure) Is(target error) bool { return f.ended != nil && target == f.ended }

// Timeout is for url.Error, which does not unwrap.
func (f *failure) Timeout() bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](f.err)
	return ok && t.Timeout() || errors.Is(f, context.DeadlineExceeded)
}

// uploadError is the failure of a request body, which says nothing about the provider: no breaker counts it.
type uploadError struct {
	inside.Judged

	err error
}

func (e *uploadError) Error() string { return e.err.Error() }

func (e *uploadError) Unwrap() error { return e.err }

// fail adds the request to err.
func (x *exchange) fail(err error) error {
	failed := &failure{method: x.method(), url: redacted(x.req.URL), err: err}
	if ctx := x.req.Context(); errors.Is(err, context.Cause(ctx)) {
		failed.ended = ctx.Err()
	}
	return failed
}

func (x *exchange) method() string {
	if x.req.Method == "" {
		return http.MethodGet
	}
	return x.req.Method
}
