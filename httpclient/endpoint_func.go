package httpclient

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/panics"
)

// FuncConfig describes a [FuncEndpoint].
type FuncConfig struct {
	// Name is the endpoint's in answers and errors. It is required.
	Name string

	// Timeout bounds each call, by its context. 0 means that only the caller's context does.
	Timeout time.Duration

	// CheckPayload is asked about the payload of each call, before the function is. Its error
	// fails the call. It must be safe for concurrent use. Nil means that every payload will do.
	CheckPayload func(payload any) error
}

// FuncEndpoint calls a function in place of HTTP, such as a method of an SDK. Make it with
// [NewFuncEndpoint]. All methods are safe for concurrent use.
type funcEndpoint struct {
	config FuncConfig
	run    func(context.Context, any) (any, error)
	closed atomic.Bool
}

// funcError is how every call of a [FuncEndpoint] fails.
type funcError struct {
	Endpoint string
	Elapsed  time.Duration
	Err      error // the function's, a *fault.PanicError, or why it was not called
}

// Error names the endpoint, and how long the call took.
func (e *funcError) Error() string {
	return fmt.Sprintf("httpclient: %s: after %s: %v", e.Endpoint, e.Elapsed.Round(time.Microsecond), e.Err)
}

// Unwrap returns Err.
func (e *funcError) Unwrap() error { return e.Err }

// NewFuncEndpoint returns an endpoint that calls f. In is the type of its payloads. All
// problems of c are joined in one error, each a *fault.FieldError.
func NewFuncEndpoint[In, Out any](c FuncConfig, f func(context.Context, In) (Out, error)) (Caller, error) {
	p := invalid.Problems{Owner: "httpclient.FuncEndpoint"}
	if c.Name == "" {
		p.Addf("Name", "is missing; want such as %q", "openai chat")
	}
	if c.Timeout < 0 {
		p.Addf("Timeout", "%v; want a positive duration, or 0 for none", c.Timeout)
	}
	if f == nil {
		p.Addf("f", "nil; want a function")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return &funcEndpoint{config: c, run: func(ctx context.Context, payload any) (any, error) {
		in, ok := payload.(In)
		if !ok && (payload != nil || reflect.TypeFor[In]().Kind() != reflect.Interface) {
			return nil, fmt.Errorf("httpclient: the payload is a %T; want a %v", payload, reflect.TypeFor[In]())
		}
		return f(ctx, in)
	}}, nil
}

// Name returns the endpoint's name.
func (e *funcEndpoint) Name() string { return e.config.Name }

// Call calls the function in this goroutine, with a context that ends with ctx or after
// FuncConfig.Timeout: a function that does not look at it is not stopped. A panic of the function or of CheckPayload is
// an error, a *fault.PanicError.
//
// What the function returned is the Value of the Answer. Where it has the method RawJSON, as
// the answers of SDKs do, that is the Body. From an error of an SDK the status, header and body are found
// as by adaptive.AnswerIn. Every error is a *[funcError]; the Answer is never nil.
func (e *funcEndpoint) Call(ctx context.Context, payload any) (*Answer, error) {
	begun := time.Now()
	a := &Answer{Endpoint: e.config.Name}
	err := e.call(ctx, payload, a)
	a.Elapsed = time.Since(begun)
	if err != nil {
		err = &funcError{a.Endpoint, a.Elapsed, err}
	}
	return a, err
}

func (e *funcEndpoint) call(ctx context.Context, payload any, a *Answer) (err error) {
	defer panics.Catch(&err)
	if e.closed.Load() {
		return ErrClosed
	}
	if check := e.config.CheckPayload; check != nil {
		if err := check(payload); err != nil {
			return fmt.Errorf("httpclient: the payload, a %T, is not valid: %w", payload, err)
		}
	}
	if d := e.config.Timeout; d > 0 {
		within, cancel := context.WithTimeoutCause(ctx, d, &expiredError{"FuncConfig.Timeout", d})
		defer cancel()
		ctx = within
	}
	a.Attempts = 1
	a.Value, err = e.run(ctx, payload)
	if found, ok := adaptive.AnswerIn(err); ok {
		a.StatusCode, a.Header, a.Body = found.Status, found.Header, found.Body
	} else if raw, ok := a.Value.(interface{ RawJSON() string }); ok && err == nil {
		a.Body = []byte(raw.RawJSON())
	}
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", ended(ctx), err)
	}
	return err
}

// Close ends the endpoint. Calls that are under way go on. The error is always nil.
func (e *funcEndpoint) Close() error {
	e.closed.Store(true)
	return nil
}
