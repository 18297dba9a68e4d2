package replay

import (
	"io"
	"sync"
)

// shared is a body that is not kept: attempts read it, or what GetBody makes of
// it. Often that is the same reader, rewound, so that only one attempt may read
// at a time.
type shared struct {
	body    io.ReadCloser
	getBody func() (io.ReadCloser, error) // nil: body can be read once only
	looked  bool                          // body has been read before the first attempt

	mu   sync.Mutex // guards last
	last *handle    // nil: no attempt has a body yet
}

// next takes the body from the attempt before and gives it to another.
func (s *shared) next() (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &handle{from: s.body, keep: s.getBody == nil}
	switch {
	case s.getBody == nil:
		if s.last != nil && !s.last.takeBack() {
			return nil, errUsed
		}
	case s.last != nil || s.looked:
		if s.last != nil {
			s.last.end()
		}
		again, err := s.getBody()
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

func (s *shared) replayable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.getBody != nil || s.last == nil || !s.last.wasRead()
}

// settle says that no other attempt will follow.
func (s *shared) settle() {
	s.mu.Lock()
	last := s.last
	if last == nil {
		last = &handle{from: s.body, closed: true}
		s.last = last
	}
	s.mu.Unlock()
	last.settle()
}

// handle is a body as one attempt has it.
type handle struct {
	from io.ReadCloser
	also io.Closer // closed with from
	keep bool      // closed unread it stays open, for the next attempt may take it over

	reading sync.Mutex // held while from is read
	closing sync.Mutex // held while from is closed
	mu      sync.Mutex // guards the flags

	read    bool
	closed  bool // by the attempt
	gone    bool // taken back
	settled bool // no other attempt will follow
	shut    bool // from is closed
}

// Read implements io.Reader.
func (h *handle) Read(p []byte) (int, error) {
	h.reading.Lock()
	defer h.reading.Unlock()
	h.mu.Lock()
	if h.gone || h.closed {
		h.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	h.read = true
	h.mu.Unlock()
	return h.from.Read(p)
}

// Close implements io.Closer.
func (h *handle) Close() error {
	h.closing.Lock()
	defer h.closing.Unlock()
	h.mu.Lock()
	h.closed = true
	shuts := !h.gone && !h.shut && (!h.keep || h.read || h.settled)
	h.shut = h.shut || shuts
	h.mu.Unlock()
	if !shuts {
		return nil
	}
	return h.close()
}

// settle says that no other attempt will follow.
func (h *handle) settle() {
	h.closing.Lock()
	defer h.closing.Unlock()
	h.mu.Lock()
	h.settled = true
	shuts := h.closed && !h.shut
	h.shut = h.shut || shuts
	h.mu.Unlock()
	if shuts {
		_ = h.close() // no caller is left for its error
	}
}

func (h *handle) close() error {
	err := h.from.Close()
	if h.also != nil {
		_ = h.also.Close() // it has been read, or is the same
	}
	return err
}

func (h *handle) wasRead() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.read
}

// takeBack takes the body back, open, unless the attempt has read of it.
func (h *handle) takeBack() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = !h.read
	return h.gone
}

// end closes the body and waits until it is neither read nor closed by another goroutine.
func (h *handle) end() {
	_ = h.Close() // the next attempt does not depend on it
	h.reading.Lock()
	h.reading.Unlock() //nolint:gocritic,staticcheck // it is enough to have had it
}
