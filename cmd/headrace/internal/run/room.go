package run

import (
	"context"
	"sync"
)

// mostAnswers bounds the responses that are read and not yet written, in bytes; the process takes about four times as much.
const mostAnswers = 256 << 20

// recent is over how many responses their usual length is averaged. A single long one does not matter much.
const recent = 16

// room bounds the memory of responses: one that has no room is read once others are written. If results keep the order of
// the requests, that would wait for itself, so that no further request is begun instead. It does nothing if it is nil.
type room struct {
	most    int64 // in bytes
	ordered bool

	mu    sync.Mutex // guards everything below
	used  int64
	usual int64            // length of a response
	kept  map[string]int64 // responses that are not written yet, by the key of the request
	freed chan struct{}    // closed when there is more room; nil if nothing waits for that
}

func newRoom(most int64, ordered bool) *room {
	return &room{most: most, ordered: ordered, kept: map[string]int64{}}
}

// begin waits until another request may begin, or for the end of ctx.
func (r *room) begin(ctx context.Context) {
	if r == nil || !r.ordered {
		return
	}
	for {
		freed := r.full()
		if freed == nil {
			return
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return
		}
	}
}

// full returns a channel that is closed when there is more room, if there is none.
func (r *room) full() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used < r.most {
		return nil
	}
	return r.waitLocked()
}

func (r *room) waitLocked() <-chan struct{} {
	if r.freed == nil {
		r.freed = make(chan struct{})
	}
	return r.freed
}

// enter waits for room for a response of that length, or, if it is negative, for one of the usual length. A response that
// is alone has room. It returns how much room the response has, for leave.
func (r *room) enter(ctx context.Context, length int64) (held int64, err error) {
	if r == nil {
		return 0, nil
	}
	for {
		held, freed := r.take(length)
		if freed == nil {
			return held, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// take returns a channel that is closed when there is more room, if there is too little now.
func (r *room) take(length int64) (held int64, freed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if length < 0 {
		length = r.usual
	}
	if !r.ordered && r.used > 0 && r.used+length > r.most {
		return 0, r.waitLocked()
	}
	r.used += length
	return length, nil
}

// leave ends the reading of a response that had so much room. An answer is kept until gone is called with its key.
func (r *room) leave(key string, held int64, answer string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := int64(len(answer))
	if n > 0 {
		r.usual += (n - r.usual) / recent
		r.kept[key] += n
	}
	r.changeLocked(n - held)
}

// gone is called when the result of a request is written, or has no use any more.
func (r *room) gone(key string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.kept[key]
	delete(r.kept, key)
	r.changeLocked(-n)
}

func (r *room) changeLocked(by int64) {
	if r.used += by; by < 0 && r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
}
