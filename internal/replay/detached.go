package replay

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/headrace/headrace/internal/panics"
)

// mostDetached is how much a detached body reads at a time: 32 KiB, as io.Copy.
const mostDetached = 32 << 10

var errGoexit = errors.New("replay: Read of the request's body ended its goroutine")

// detached is a body with a Read that may block. It runs on a goroutine of its own, which
// is left behind when the context ends. What it returns after that is passed to the
// next Read. Only one goroutine may read at a time.
type detached struct {
	io.Closer

	from io.Reader
	ctx  context.Context //nolint:containedctx // of what is sent now
	came chan struct{}   // receives when a Read of from has returned

	pending atomic.Bool // a Read of from has not been received
	buf     []byte      // of that Read
	n       int         // what it returned
	got     error       // what it returned

	rest []byte // of buf, not passed on yet
	err  error  // behind rest
}

func detach(ctx context.Context, body io.ReadCloser) *detached {
	return &detached{from: body, Closer: body, ctx: ctx, came: make(chan struct{}, 1)}
}

// Read implements io.Reader.
func (d *detached) Read(p []byte) (n int, err error) {
	n, err, _ = d.until(d.ctx, nil, p)
	return n, err
}

// until is Read for an attempt with that context, which leaves the body when left
// is closed. given is false if the Read was left behind.
func (d *detached) until(ctx context.Context, left <-chan struct{}, p []byte) (n int, err error, given bool) { //nolint:revive // the error is what was read
	if ctx.Err() != nil {
		return 0, context.Cause(ctx), false
	}
	if len(d.rest) == 0 && d.err == nil {
		d.begin(len(p))
		select {
		case <-d.came:
			d.err, d.rest = d.got, d.buf[:max(0, min(d.n, len(d.buf)))]
			d.pending.Store(false)
		case <-ctx.Done():
			return 0, context.Cause(ctx), false
		case <-left:
			return 0, io.ErrClosedPipe, false
		}
	}
	n = copy(p, d.rest)
	if d.rest = d.rest[n:]; len(d.rest) > 0 {
		return n, nil, true
	}
	err, d.err = d.err, nil
	return n, err, true
}

// begin starts to read the next piece, unless a Read is in progress.
func (d *detached) begin(length int) {
	if d.pending.Swap(true) {
		return
	}
	if length = min(length, mostDetached); cap(d.buf) < length {
		d.buf = make([]byte, length)
	}
	d.buf = d.buf[:length]
	go func() {
		d.n, d.got = 0, errGoexit
		defer func() { d.came <- struct{}{} }()
		defer panics.Catch(&d.got)
		d.n, d.got = d.from.Read(d.buf)
	}()
}

// Close closes the body. If it is being read, that is done on another goroutine,
// because Close may wait for the Read.
func (d *detached) Close() error {
	if !d.pending.Load() {
		return d.Closer.Close()
	}
	go func() {
		defer func() { _ = recover() }() // it is user code, and no caller is left for its error
		_ = d.Closer.Close()
	}()
	return nil
}
