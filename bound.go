package headrace

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/replay"
)

// defaultFirstByte is how long a request that was sent waits for its response,
// unless WithFirstByte says otherwise.
const defaultFirstByte = 10 * time.Minute

// timeoutError is the cause of an attempt that took too long.
type timeoutError struct{ text string }

func (e *timeoutError) Error() string { return e.text }

func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// bound ends the context of an attempt if its response does not begin in time. After
// that it is the body of the response, and the end of the body releases the context.
type bound struct {
	io.ReadCloser

	transport *transport
	began     time.Duration  // by the clock of the transport
	timeout   time.Duration  // from the start of the attempt to the header; 0: none
	firstByte time.Duration  // from the last Read of the request body to the header; 0: none
	sent      *replay.Upload // says when the request was sent
	cancel    context.CancelCauseFunc

	mu    sync.Mutex // guards all below
	alarm clock.Alarm
	over  bool          // the header is there, or the attempt has failed
	ended atomic.Bool   // cancel was called, or is about to be; not guarded by mu
	late  *timeoutError // why it was ended; nil: it was not
}

// bounded returns the context for an attempt with a policy's timeout. The bound
// is nil if there is none, or if the request ends before it.
func (x *exchange) bounded(ctx context.Context, timeout time.Duration) (context.Context, *bound) {
	first := x.t.firstByte
	if timeout > 0 && !x.t.firstByteSet {
		first = 0
	}
	if timeout == 0 && (first == 0 || x.endsWithin(first)) {
		return ctx, nil
	}
	b := &x.bound
	if b.transport != nil { // the body of an earlier attempt may still be read
		b = new(bound)
	}
	b.transport, b.timeout, b.firstByte, b.sent = x.t, timeout, first, &x.sent
	ctx, b.cancel = context.WithCancelCause(ctx)
	left := min(cmp.Or(timeout, first), cmp.Or(first, timeout))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.alarm.To = b
	b.began = x.t.alarms.Set(&b.alarm, left)
	return ctx, b
}

// endsWithin reports whether the deadline of the request comes before a bound of d can.
func (x *exchange) endsWithin(d time.Duration) bool {
	deadline, set := x.req.Context().Deadline()
	return set && x.t.clock.Real() && time.Until(deadline) < d
}

// leftLocked returns how much longer the attempt may take or, if its time is over,
// why it is ended.
func (b *bound) leftLocked() (late *timeoutError, left time.Duration) {
	now := b.transport.clock.Elapsed()
	if b.timeout > 0 {
		left = b.timeout - (now - b.began)
		if left <= 0 {
			return &timeoutError{fmt.Sprintf("the header of the response took longer than the timeout of %s", b.timeout)}, 0
		}
	}
	if b.firstByte > 0 {
		quiet := now - max(b.began, b.sent.Last(now))
		if quiet >= b.firstByte {
			return &timeoutError{fmt.Sprintf("no response in the %s after the request was sent: WithFirstByte sets how long to wait", b.firstByte)}, 0
		}
		if first := b.firstByte - quiet; left == 0 || first < left {
			left = first
		}
	}
	return nil, left
}

// Ring ends the attempt if it is late.
func (b *bound) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	late, left := b.leftLocked()
	if late == nil {
		b.transport.alarms.Set(&b.alarm, left)
		return
	}
	b.over, b.late = true, late
	b.cancel(late)
}

// arrived stops the alarm. If the attempt was ended before, it returns why.
func (b *bound) arrived() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.transport.alarms.Clear(&b.alarm) // if not, Ring is about to run
	}
	b.over = true
	if b.late == nil { // a nil pointer in an error is not nil
		return nil
	}
	return b.late
}

// release stops the alarm and ends the context of the attempt.
func (b *bound) release() {
	_ = b.arrived()
	b.end()
}

// end ends the context, the first time. The header has arrived.
func (b *bound) end() {
	if !b.ended.Swap(true) {
		b.cancel(nil)
	}
}

// Read implements io.Reader.
func (b *bound) Read(p []byte) (n int, err error) {
	if n, err = b.ReadCloser.Read(p); err != nil {
		b.end()
	}
	return n, err
}

// Close implements io.Closer.
func (b *bound) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
