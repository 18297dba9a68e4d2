package replay

import (
	"io"
	"sync"
)

// handle is a body that can be read once, as one attempt has it. It is not
// closed for good before somebody has read of it: the next attempt may take it over.
type handle struct {
	mu   sync.Mutex // guards the flags
	from io.ReadCloser

	read, closed, gone, settled bool
}

func (b *Body) handOver() (io.ReadCloser, error) {
	if b.last != nil && !b.last.revoke() {
		return nil, errUsed
	}
	b.last = &handle{from: b.once}
	return b.last, nil
}

// revoke takes the body back if nobody has read of it.
func (h *handle) revoke() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = !h.read
	return h.gone
}

func (h *handle) wasRead() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.read
}

// settle says that no other attempt will follow.
func (h *handle) settle() {
	h.mu.Lock()
	closes := h.closed && !h.read && !h.settled
	h.settled = true
	h.mu.Unlock()
	if closes {
		_ = h.from.Close() // nobody is left to hear of it
	}
}

// Read implements io.Reader.
func (h *handle) Read(p []byte) (int, error) {
	h.mu.Lock()
	if h.gone || h.closed && !h.read {
		h.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	h.read = true
	h.mu.Unlock()
	return h.from.Read(p)
}

// Close implements io.Closer.
func (h *handle) Close() error {
	h.mu.Lock()
	closes := !h.closed && (h.read || h.settled)
	h.closed = true
	h.mu.Unlock()
	if closes {
		return h.from.Close()
	}
	return nil
}
