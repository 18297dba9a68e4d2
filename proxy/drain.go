package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/clock"
)

// work is what the proxy is doing.
type work struct {
	base context.Context //nolint:containedctx // that of all requests of Server
	end  context.CancelCauseFunc

	mu       sync.Mutex // guards all below
	draining bool
	active   int // requests, and calls that go on without one
	requests int
	idle     chan struct{} // closed when it is draining and nothing is active
	last     int
	cancels  map[int]context.CancelCauseFunc
}

func (w *work) init() {
	w.idle, w.cancels = make(chan struct{}), map[int]context.CancelCauseFunc{}
	w.base, w.end = context.WithCancelCause(context.WithValue(context.Background(), baseKey{}, w))
}

type baseKey struct{}

// ends reports whether the end of a drain cancels a context anyway. One of
// context.WithoutCancel has the value still.
func (w *work) ends(ctx context.Context) bool {
	return ctx.Done() != nil && ctx.Value(baseKey{}) == w
}

// enter begins a request, unless the proxy is draining.
func (w *work) enter() *failure {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining {
		return draining()
	}
	w.active++
	w.requests++
	return nil
}

// more begins work for a request that has entered.
func (w *work) more() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active++
}

// outlast returns a context that ends with ctx. If that is the end of a drain, it
// goes on for the time that calls have to end, so that clients get the answer.
func outlast(ctx context.Context, c *clock.Clock) (_ context.Context, done func()) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if !errors.As(cause, new(*failure)) {
			cancel(cause)
			return
		}
		late := c.AfterFunc(cancelTime, func() { cancel(cause) })
		context.AfterFunc(own, func() { late.Stop() })
	})
	return own, func() {
		stop()
		cancel(nil)
	}
}

func draining() *failure {
	f := fail(CodeDraining, "the proxy is being stopped and takes no more requests: send it again when it is up")
	f.retryAfter = 2 * time.Second
	return f
}

// leave ends a request, or with 0 what more has begun.
func (w *work) leave(requests int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests -= requests
	if w.active--; w.active == 0 && w.draining {
		close(w.idle)
	}
}

// also has the end of a drain cancel a request, until the function that it returns is called.
func (w *work) also(cancel context.CancelCauseFunc) (no func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.base.Err() != nil { // the body of the request has only now arrived
		cancel(context.Cause(w.base))
	}
	w.last++
	id := w.last
	w.cancels[id] = cancel
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.cancels, id)
	}
}

// cancelTime is how long cancelled requests have to end.
const cancelTime = 2 * time.Second

// Drain refuses new requests with a 503 and waits for the rest. If ctx ends before
// that, they are cancelled, and the error says how many there were. It then returns
// after 2 s at the latest: Close the server to end the connections of clients that
// neither send nor read. It may be called more than once.
func (p *Proxy) Drain(ctx context.Context) error {
	w := &p.work
	w.mu.Lock()
	if !w.draining {
		if w.draining = true; w.active == 0 {
			close(w.idle)
		}
	}
	w.mu.Unlock()
	p.joins.close()
	select {
	case <-w.idle:
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	left := w.requests
	for _, cancel := range w.cancels {
		cancel(draining())
	}
	w.end(draining())
	w.mu.Unlock()
	late := make(chan struct{})
	timer := p.clock.AfterFunc(cancelTime, func() { close(late) })
	defer timer.Stop()
	select {
	case <-w.idle:
	case <-late:
	}
	if left == 0 {
		return nil
	}
	return fmt.Errorf("proxy: drain: %d requests were cancelled: %w", left, context.Cause(ctx))
}
