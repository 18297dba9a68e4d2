package headrace

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/panics"
)

var errNothing = errors.New("headrace: the base returned neither a response nor an error")

// patience is how long the base has to return after its context has ended.
const patience = time.Second

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

// send sends out. If the policy has a Timeout, a base that ignores its context is
// abandoned.
func (x *exchange) send(b *bound, out *http.Request) (resp *http.Response, err error) {
	if b != nil && b.timeout > 0 {
		resp, err = x.t.supervise(out.Context(), out)
	} else {
		s := x.t.trip(out)
		resp, err = s.resp, s.err
	}
	late := b.arrived()
	switch {
	case late == nil && (b == nil || err != nil):
		return resp, err
	case late == nil && (resp.StatusCode == http.StatusSwitchingProtocols || resp.Body == nil || resp.Body == http.NoBody):
		b.release() // a connection is the caller's from now on
		return resp, nil
	case late == nil:
		b.ReadCloser, resp.Body = resp.Body, b
		return resp, nil
	case err == nil:
		discard(resp) // its body ends with the context
		err = late
	case !errors.As(err, new(*fault.HungError)):
		err = late // the base may call it cancelled
	}
	return nil, x.fail(err) //nolint:contextcheck // the request has it
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
	defer func() { _ = recover() }() // no caller is left for a panic of the base's body, which would end the program
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close() // it is not returned
	}
}
