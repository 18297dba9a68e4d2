package headrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/panics"
)

var errNothing = errors.New("headrace: the base returned neither a response nor an error")

// patience is how long the base has to return after its context has ended.
const patience = time.Second

// timeoutError is the cause of an attempt that Policy.Timeout has ended.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the header of the response took longer than the timeout of %s", e.after)
}

func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// sent is what the base has returned.
type sent struct {
	resp *http.Response
	err  error
}

// trip calls the base. A panic is its error.
func (t *transport) trip(out *http.Request) (s sent) {
	defer panics.Catch(&s.err)
	s.resp, s.err = t.base.RoundTrip(out) //nolint:bodyclose // it is the caller's
	if s.resp == nil && s.err == nil {
		s.err = errNothing
	}
	return s
}

// send sends out, and waits for the header of the response no longer than the
// policy's Timeout.
func (x *exchange) send(a inflight.Attempt, out *http.Request) (*http.Response, error) {
	d := a.Timeout()
	if d == 0 {
		s := x.t.trip(out)
		return s.resp, s.err
	}
	ctx, cancel := context.WithCancelCause(out.Context())
	timer := x.t.clock.AfterFunc(d, func() { cancel(&timeoutError{d}) })
	s, err := x.t.supervise(ctx, out.WithContext(ctx))
	if !timer.Stop() && err == nil && ctx.Err() != nil {
		discard(s) // the body ends with the context
		err = context.Cause(ctx)
	}
	if err != nil {
		late, ok := errors.AsType[*timeoutError](context.Cause(ctx))
		if ok && !errors.As(err, new(*fault.HungError)) {
			err = late // the base may call it cancelled
		}
		if ok {
			err = x.fail(err) //nolint:contextcheck // the request has it
		}
		cancel(nil)
		return nil, err
	}
	if s.StatusCode != http.StatusSwitchingProtocols && s.Body != nil {
		s.Body = &ended{s.Body, cancel}
	}
	return s, nil
}

// supervise calls the base on a goroutine of its own, and abandons it if it does
// not return after ctx has ended.
func (t *transport) supervise(ctx context.Context, out *http.Request) (*http.Response, error) {
	returned := make(chan sent, 1)
	go func() {
		s := sent{err: errPanic}
		defer func() { returned <- s }() // also after runtime.Goexit
		s = t.trip(out)
	}()
	select {
	case s := <-returned:
		return s.resp, s.err
	case <-ctx.Done():
	}
	hung := make(chan struct{})
	timer := t.clock.AfterFunc(patience, func() { close(hung) })
	defer timer.Stop()
	select {
	case s := <-returned:
		return s.resp, s.err
	case <-hung:
		go func() { discard((<-returned).resp) }()
		return nil, &fault.HungError{After: patience, Cause: context.Cause(ctx)}
	}
}

func discard(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close() // it is not returned
	}
}

// ended is a body whose end releases the context of its attempt.
type ended struct {
	io.ReadCloser

	cancel context.CancelCauseFunc
}

// Read implements io.Reader.
func (b *ended) Read(p []byte) (n int, err error) {
	if n, err = b.ReadCloser.Read(p); err != nil {
		b.cancel(nil)
	}
	return n, err
}

// Close implements io.Closer.
func (b *ended) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
