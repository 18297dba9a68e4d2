package executor

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Change is one step in the life of a task.
type Change struct {
	Task string    `json:"task"` // its ID
	From State     `json:"from"`
	To   State     `json:"to"`
	At   time.Time `json:"at"`
	Err  error     `json:"-"` // of a task that Failed or was Cancelled
}

// defaultChanges is the room of a subscription that does not say.
const defaultChanges = 64

// maxChanges is the most room that a subscription has.
const maxChanges = 1 << 16

// Subscription tells of changes. It never makes the work wait: when its room is full
// the oldest change goes, and is counted.
type Subscription struct {
	of      *fanout
	changes chan Change

	mu      sync.Mutex // guards closed and sending to changes; never held while anything waits
	closed  bool
	dropped int64
}

// C returns the channel of the changes. It is closed by Close, after the last
// change of the only task that it tells of, and when the executor has stopped.
func (s *Subscription) C() <-chan Change { return s.changes }

// Dropped returns how many changes were lost for want of room.
func (s *Subscription) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close ends the subscription. What is in the channel can still be read. It
// may be called again.
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

// tell tells all of c, and that nothing follows if it is the last.
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

// Subscribe tells of every change of every task from now on, in the order of
// each task. n is how many changes wait to be read at most, up to 65,536; below 1 it is 64. Close the subscription
// when nobody reads it any more.
func (x *Executor) Subscribe(n int) *Subscription { return x.subs.add(n) }

func (t *record) subscribe(n int) *Subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.courseLocked()
	if c.subs == nil {
		c.subs = new(fanout)
	}
	s := c.subs.add(n)
	if t.life.state.Terminal() {
		c.subs.end()
	}
	return s
}
