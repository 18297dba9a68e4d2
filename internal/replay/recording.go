package replay

import (
	"context"
	"errors"
	"io"
	"sync"
)

// errTooLong is the error of another attempt with a body of which more was read
// than is kept.
var errTooLong = errors.New("replay: more of the body was read than is kept; set GetBody")

// recording is a body without GetBody. What an attempt reads of it is kept, up
// to a bound, so that the next one can begin with that and read on where the
// one before has stopped.
type recording struct {
	from   *detached
	max    int64   // bytes that are kept
	sent   *Upload // nil: it is not watched
	length int64   // how long it says that it is, if that much is kept

	reading sync.Mutex // held while from is read

	mu      sync.Mutex      // guards all below
	kept    []byte          // what was read, unless over
	err     error           // of from, behind what is kept
	over    bool            // more was read than is kept
	settled bool            // no other attempt will follow
	shut    bool            // from is closed
	last    *replayed       // nil: no attempt has the body yet
	ctx     context.Context //nolint:containedctx // of the attempt; nil: there is none yet
}

// next takes the body from the attempt before and gives it to another.
func (r *recording) next() (io.ReadCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil, errTooLong
	}
	if r.last != nil {
		r.last.leave()
	}
	r.last = &replayed{of: r, ctx: r.ctx, left: make(chan struct{})}
	return r.last, nil
}

func (r *recording) under(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx = ctx
}

// replayable is false as well if the body itself has failed: it would fail again.
func (r *recording) replayable() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.over && !broken(r.err)
}

func (r *recording) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return broken(r.err)
}

// broken reports whether a Read that returned err has failed.
func broken(err error) bool { return err != nil && err != io.EOF } //nolint:errorlint // readers return it as it is

// settle says that no other attempt will follow.
func (r *recording) settle() {
	r.mu.Lock()
	r.settled = true
	shuts := !r.shut && (r.last == nil || r.last.closed)
	r.shut = r.shut || shuts
	r.mu.Unlock()
	if shuts {
		_ = r.from.Close() // no caller is left for its error
	}
}

// Read reads on behind what is kept, for a look at the body before the first attempt.
func (r *recording) Read(p []byte) (int, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	n, err := r.from.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(p[:n], err)
	return n, err
}

// keep notes what was read. mu is held.
func (r *recording) keep(p []byte, err error) {
	r.err = err
	switch {
	case len(p) == 0:
	case !r.over && int64(len(r.kept)+len(p)) <= r.max:
		r.kept = append(r.kept, p...)
	default:
		r.kept, r.over = nil, true
	}
}

// replayed is a recording as one attempt has it.
type replayed struct {
	of     *recording
	ctx    context.Context //nolint:containedctx // of the attempt
	left   chan struct{}   // closed when the attempt does not have the body any more
	at     int             // bytes that were read of what is kept; of.mu guards it
	gone   bool            // left is closed; of.mu guards it
	closed bool            // by the attempt; of.mu guards it
}

// Read implements io.Reader.
func (h *replayed) Read(p []byte) (int, error) {
	r := h.of
	r.sent.begin()
	defer r.sent.end()
	if n, err, done := h.replay(p); done {
		return n, err
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	if n, err, done := h.replay(p); done { // what another attempt was reading
		return n, err
	}
	n, err, given := r.from.until(h.ctx, h.left, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !given:
		return 0, err
	case r.last != h: // it was taken back meanwhile, and the next attempt needs what was read
		r.kept, r.err = append(r.kept, p[:n]...), err
		return 0, io.ErrClosedPipe
	case r.settled:
		r.kept, r.over, r.err = nil, true, err
	default:
		r.keep(p[:n], err)
	}
	h.at += n
	return n, err
}

// replay reads what is kept, if there is more of it, and reports whether that is all to be done.
func (h *replayed) replay(p []byte) (n int, err error, done bool) { //nolint:revive // the error is what was read
	r := h.of
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case h.closed, r.last != h:
		return 0, io.ErrClosedPipe, true
	case h.at < len(r.kept):
		n = copy(p, r.kept[h.at:])
		h.at += n
		return n, nil, true
	case r.err != nil:
		return 0, r.err, true
	}
	return 0, nil, len(p) == 0
}

// leave ends a Read that waits. of.mu is held.
func (h *replayed) leave() {
	if !h.gone {
		h.gone = true
		close(h.left)
	}
}

// Close implements io.Closer. The body stays open as long as another attempt may follow.
func (h *replayed) Close() error {
	r := h.of
	r.mu.Lock()
	h.closed = true
	h.leave()
	shuts := (r.settled || r.over) && !r.shut && r.last == h
	r.shut = r.shut || shuts
	r.mu.Unlock()
	if !shuts {
		return nil
	}
	return r.from.Close()
}
