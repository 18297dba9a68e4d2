package guard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// seat is the context of the first attempt of a call in a lane. It is all that
// is new for most calls: what it shows belongs to the lane, and is used again
// for the next call unless something has asked the seat for its attempt. A seat
// that is looked at after the call does not show that of another one.
type seat struct{ shows atomic.Pointer[view] }

// How many seats a lane takes at a time: few at first, because most lanes are short.
const (
	firstSeats = 4
	mostSeats  = 128
)

// So many seats are made at a time: twice as many as the last time, from half a
// KiB up to 8 KiB.
const (
	fewSeats  = 64
	manySeats = 1024
)

// seats are the unused seats of a guard, for all its lanes.
type seats struct {
	mu   sync.Mutex // guards what follows
	free []seat
	made int // how many were made last
}

// take returns n of them.
func (s *seats) take(n int) (taken []seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < n {
		s.made = min(max(n, fewSeats, 2*s.made), manySeats)
		s.free = make([]seat, s.made)
	}
	taken, s.free = s.free[:n:n], s.free[n:]
	return taken
}

// view is what a seat shows.
type view struct {
	context.Context //nolint:containedctx // it is a context

	guard   *Guard
	cost    *throttle.Cost // of an attempt that is made when it is asked for; nil: zero
	attempt *attempt       // nil: it is made then
	over    bool           // the attempt has ended
	kept    bool           // it was asked for
}

// attempt is that of the call, which cannot be used for another one from now on.
func (s *seat) attempt() *attempt {
	for {
		v := s.shows.Load()
		if v.kept {
			return v.attempt
		}
		kept := &view{Context: v.Context, guard: v.guard, attempt: v.attempt, kept: true}
		if v.attempt == nil { // it was not admitted, or is over
			kept.attempt = loosely(v.Context, v.guard, reserved(v.cost), v.over)
		}
		if s.shows.CompareAndSwap(v, kept) {
			return kept.attempt
		}
	}
}

// reserves reports whether that is the cost of v.
func (v *view) reserves(c *throttle.Cost) bool {
	if v.cost == nil {
		return amounts(c) == 0
	}
	return *v.cost == *c
}

func (s *seat) context() context.Context { return s.shows.Load().Context }

// Deadline implements context.Context, as Done and Err do.
func (s *seat) Deadline() (time.Time, bool) { return s.context().Deadline() }

func (s *seat) Done() <-chan struct{} { return s.context().Done() }

func (s *seat) Err() error { return s.context().Err() }

// Value makes the attempt findable, as attempt.Value does.
func (s *seat) Value(key any) any {
	switch {
	case key == inflight.Key{}:
		return s.attempt()
	case inflight.Private(key):
		return nil
	}
	return s.context().Value(key)
}

// Number implements inflight.Facts. It is the first attempt.
func (*seat) Number() int { return 1 }

// Timeout implements inflight.Facts.
func (s *seat) Timeout() time.Duration {
	if k := s.shows.Load().attempt; k != nil {
		return k.Timeout()
	}
	return 0
}
