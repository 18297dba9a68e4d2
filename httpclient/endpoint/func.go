package endpoint

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/ended"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/panics"
)

// FuncConfig describes the endpoint of NewFunc.
type FuncConfig struct {
	// Name appears in answers and errors. It is required.
	Name string

	// Timeout bounds each call through its context. 0 means no bound.
	Timeout time.Duration

	// CheckPayload validates the payload of each call. It must be safe for concurrent use. Nil accepts
	// everything.
	CheckPayload func(payload any) error
}

// funcEndpoint calls a function.
type funcEndpoint struct {
	config FuncConfig
	run    func(context.Context, any) (any, error)
	closed atomic.Bool
}

// funcError is the error of every call.
type funcError struct {
	Endpoint string
	Elapsed  time.Duration
	Err      error // the function's, a *fault.PanicError, or why it was not called
}

// Error names the endpoint, and how long the call took.
func (e *funcError) Error() string {
	return fmt.Sprintf("endpoint: %s: after %s: %v", e.Endpoint, e.Elapsed.Round(time.Microsecond), e.Err)
}

// Unwrap returns Err.
func (e *funcError) Unwrap() error { return e.Err }

// NewFunc returns an endpoint that calls f, such as a method of an SDK, in place of HTTP. In
// is the type of its payloads. The error joins a *fault.FieldError for each problem.
//
// Call runs f on the calling goroutine, with a context that ends after FuncConfig.Timeout; an f that
// ignores it is not stopped. Answer.Value is the result, and Answer.Body its RawJSON if it has that
// method. Status, header and body of an SDK's error are found as by adaptive.AnswerIn. A panic is a
// *fault.PanicError.
func NewFunc[In, Out any](c FuncConfig, f func(context.Context, In) (Out, error)) (Caller, error) {
	p := invalid.Problems{Owner: "endpoint"}
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
			return nil, fmt.Errorf("endpoint: the payload is a %T; want a %v", payload, reflect.TypeFor[In]())
		}
		return f(ctx, in)
	}}, nil
}

// Name returns the endpoint's name.
func (e *funcEndpoint) Name() string { return e.config.Name }

// Call implements Caller.
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
		return httpclient.ErrClosed
	}
	if check := e.config.CheckPayload; check != nil {
		if err := check(payload); err != nil {
			return fmt.Errorf("endpoint: the payload, a %T, is not valid: %w", payload, err)
		}
	}
	if d := e.config.Timeout; d > 0 {
		within, cancel := context.WithTimeoutCause(ctx, d, &ended.LateError{Setting: "FuncConfig.Timeout", After: d})
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
		return fmt.Errorf("%w: %w", ended.Cause(ctx), err)
	}
	return err
}

// Close ends the endpoint. Calls that are under way go on. The error is always nil.
func (e *funcEndpoint) Close() error {
	e.closed.Store(true)
	return nil
}
