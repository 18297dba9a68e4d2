package replay

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

var errNoBody = errors.New("replay: GetBody returned neither a body nor an error")

// shared is a body with GetBody: the first attempt reads it, and the next ones
// what GetBody makes of it. Often that is the same reader, rewound, so that only
// one attempt may read at a time.
type shared struct {
	body    io.ReadCloser
	getBody func() (io.ReadCloser, error)
	sent    *Upload // nil: it is not watched
	looked  bool    // body has been read before the first attempt

	mu   sync.Mutex // guards last
	last *handle    // nil: no attempt has a body yet
}

// next takes the body from the attempt before and gives it to another.
func (s *shared) next() (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &handle{from: s.body, sent: s.sent}
	if s.last != nil || s.looked {
		if s.last != nil {
			s.last.end()
		}
		again, err := s.getBody()
		if err == nil && again == nil {
			err = errNoBody // net/http would read it on a goroutine of its own
		}
		if err != nil {
			return nil, err
		}
		if h.from = again; s.last == nil {
			h.also = s.body // it has not been closed
		}
	}
	s.last = h
	return h, nil
}

func (*shared) under(context.Context) {} // it is in memory

func (*shared) replayable() bool { return true }

func (s *shared) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last != nil && s.last.failed.Load()
}

// settle closes the body if no attempt has it.
func (s *shared) settle() {
	s.mu.Lock()
	var unused *handle
	if s.last == nil {
		unused = &handle{from: s.body}
		s.last = unused
	}
	s.mu.Unlock()
	if unused != nil {
		_ = unused.Close() // no caller is left for its error
	}
}

// handle is a body as one attempt has it.
type handle struct {
	from io.ReadCloser
	sent *Upload   // nil: it is not watched
	also io.Closer // closed with from

	reading sync.Mutex // held while from is read
	closing sync.Mutex // held while from is closed

	failed atomic.Bool // a Read of from has, before it was closed

	mu     sync.Mutex // guards closed
	closed bool
}

// Read implements io.Reader.
func (h *handle) Read(p []byte) (int, error) {
	h.reading.Lock()
	defer h.reading.Unlock()
	h.mu.Lock()
	closed := h.closed
	h.mu.Unlock()
	if closed {
		return 0, io.ErrClosedPipe
	}
	h.sent.begin()
	defer h.sent.end()
	n, err := h.from.Read(p)
	if broken(err) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.failed.Store(h.failed.Load() || !h.closed)
	}
	return n, err
}

// Close implements io.Closer.
func (h *handle) Close() error {
	h.closing.Lock()
	defer h.closing.Unlock()
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	h.mu.Unlock()
	if closed {
		return nil
	}
	err := h.from.Close()
	if h.also != nil {
		_ = h.also.Close() // it has been read, or is the same
	}
	return err
}

// end closes the body and waits until it is neither read nor closed by another goroutine.
func (h *handle) end() {
	_ = h.Close() // the next attempt does not depend on it
	h.reading.Lock()
	h.reading.Unlock() //nolint:gocritic,staticcheck // it is enough to have had it
}
