package executor

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Change is one state change of a task.
type Change struct {
	Task string    `json:"task"` // its ID
	From State     `json:"from"`
	To   State     `json:"to"`
	At   time.Time `json:"at"`
	Err  error     `json:"-"` // if it Failed or was Cancelled
}

// defaultChanges is the room of a subscription that does not say.
const defaultChanges = 64

// maxChanges is the most room that a subscription has.
const maxChanges = 1 << 16

// Subscription delivers changes. If its buffer is full the oldest change is dropped.
type Subscription struct {
	of      *fanout
	changes chan Change

	mu      sync.Mutex // guards closed and sending to changes; never held while anything waits
	closed  bool
	dropped int64
}

// C returns the channel of the changes. It is closed by Close, when the executor has
// stopped, and after the last change of a single task.
func (s *Subscription) C() <-chan Change { return s.changes }

// Dropped counts the dropped changes.
func (s *Subscription) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close ends the subscription. Buffered changes can still be read.
func (s *Subscription) Close() {
	s.of.remove(s)
	s.end()
}

func (s *Subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.changes)
	}
}

func (s *Subscription) tell(c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed {
		select {
		case s.changes <- c:
			return
		default:
		}
		select {
		case <-s.changes:
			s.dropped++
		default:
		}
	}
}

// fanout is a set of subscriptions.
type fanout struct {
	count atomic.Int32

	mu   sync.Mutex // guards all, over
	all  []*Subscription
	over bool
}

func (f *fanout) any() bool { return f.count.Load() > 0 }

func (f *fanout) add(n int) *Subscription {
	if n < 1 {
		n = defaultChanges
	}
	s := &Subscription{of: f, changes: make(chan Change, min(n, maxChanges))}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		s.end()
		return s
	}
	f.all = append(f.all, s)
	f.count.Add(1)
	return s
}

func (f *fanout) remove(s *Subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.all, s); i >= 0 {
		f.all = slices.Delete(f.all, i, i+1)
		f.count.Add(-1)
	}
}

// tell sends c to every subscription, and closes them if it is the last change.
func (f *fanout) tell(c Change, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.all {
		s.tell(c)
	}
	if last {
		f.endLocked()
	}
}

func (f *fanout) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLocked()
}

func (f *fanout) endLocked() {
	f.over = true
	for _, s := range f.all {
		s.end()
	}
	f.all = nil
	f.count.Store(0)
}
