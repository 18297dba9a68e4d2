package proxy

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// work is what the proxy is doing.
type work struct {
	mu       sync.Mutex // guards all below
	draining bool
	active   int // requests, and calls that go on without one
	requests int
	idle     chan struct{} // closed when it is draining and nothing is active
	last     int
	cancels  map[int]context.CancelCauseFunc
}

func (w *work) init() { w.idle, w.cancels = make(chan struct{}), map[int]context.CancelCauseFunc{} }

// enter begins a request, unless the proxy is draining.
func (w *work) enter() (leave func(), f *failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining {
		return nil, draining()
	}
	w.active++
	w.requests++
	return func() { w.leave(1) }, nil
}

// more begins work for a request that has entered.
func (w *work) more() (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active++
	return func() { w.leave(0) }
}

func draining() *failure {
	f := fail(CodeDraining, "the proxy is being stopped and takes no more requests: send it again when it is up")
	f.retryAfter = 2 * time.Second
	return f
}

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
	p.flights.close()
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
