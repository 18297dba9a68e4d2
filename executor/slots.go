package executor

import (
	"context"
	"slices"
)

// lookahead is how many tasks for each slot may wait without one: for a guard
// of their own, or between two attempts. Each takes a goroutine.
const lookahead = 4

// slots counts the tasks that are worked on against Concurrency. The executor's
// mu guards it.
type slots struct {
	most      int
	used      int         // by tasks that left the queue and are not between two attempts
	waiting   int         // of these, tasks that wait for a guard of their own
	strange   int         // of these, tasks whose call the guard may not count
	resting   int         // workers whose task is between two attempts
	returning []*returner // of these, tasks that want a slot again
}

// ahead is how many of the waiting tasks do not count.
func (s *slots) ahead() int {
	if s.strange > 0 {
		return 0
	}
	return min(s.waiting, max(0, lookahead*s.most-s.resting))
}

// counted is how many slots are in use.
func (s *slots) counted() int { return s.used - s.ahead() }

// free reports whether another task may be begun.
func (s *slots) free() bool { return s.counted() < s.most }

// restful reports whether one more task may give up its slot.
func (s *slots) restful() bool { return s.resting+s.ahead() < lookahead*s.most }

// take gives w a slot.
func (s *slots) take(w *worker) {
	w.holds = true
	s.used++
}

// waits notes whether the task of w waits for a guard of its own.
func (s *slots) waits(w *worker, yes bool) {
	switch {
	case !w.holds || w.waits == yes:
		return
	case yes:
		s.waiting++
	default:
		s.waiting--
	}
	w.waits = yes
}

// rests gives the slot of w up until its task is repeated.
func (s *slots) rests(w *worker) {
	s.give(w)
	w.rests = true
	s.resting++
}

// unknown notes that the guard may not count the call of w.
func (s *slots) unknown(w *worker) {
	if w.holds && !w.strange {
		w.strange = true
		s.strange++
	}
}

// give takes back what w has.
func (s *slots) give(w *worker) {
	s.waits(w, false)
	if w.strange {
		w.strange = false
		s.strange--
	}
	if w.holds {
		w.holds = false
		s.used--
	}
	if w.rests {
		w.rests = false
		s.resting--
	}
}

// returner is a task between two attempts that waits for a slot.
type returner struct {
	w     *worker
	ready chan struct{}
}

// withdraw takes r out of the line.
func (s *slots) withdraw(r *returner) {
	if i := slices.Index(s.returning, r); i >= 0 {
		s.returning = slices.Delete(s.returning, i, i+1)
	}
}

// rest gives the slot of t up for the time between two attempts, unless it is
// lent, or too many tasks do that already.
func (x *Executor) rest(t *record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if w := t.by; w != nil && w.holds && x.slots.restful() {
		x.slots.rests(w)
		x.returnLocked()
		x.wakeLocked()
	}
}

// rise gets t a slot again, before all tasks that have not begun, and not while
// the executor is paused. It returns false if ctx ends first.
func (x *Executor) rise(ctx context.Context, t *record) bool {
	r := x.rising(t)
	if r == nil {
		return true
	}
	select {
	case <-r.ready:
		return true
	case <-ctx.Done():
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.slots.withdraw(r)
	x.wakeLocked() //nolint:contextcheck // a worker is for any task
	return false
}

// rising puts t into the line of those that want a slot again; nil if it is lent one.
func (x *Executor) rising(t *record) *returner {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.by == nil {
		return nil
	}
	r := &returner{t.by, make(chan struct{})}
	x.slots.returning = append(x.slots.returning, r)
	x.returnLocked()
	return r
}

// returnLocked gives free slots to tasks between two attempts. One that has kept
// its slot does not wait for those before it.
func (x *Executor) returnLocked() {
	s := &x.slots
	if len(s.returning) == 0 || x.paused {
		return
	}
	s.returning = slices.DeleteFunc(s.returning, func(r *returner) bool {
		switch {
		case r.w.lost || r.w.holds:
		case s.free():
			s.give(r.w) // it rests no more
			s.take(r.w)
		default:
			return false
		}
		close(r.ready)
		return true
	})
}

// waits notes whether t waits for a guard of its own. Meanwhile another task may begin.
func (x *Executor) waits(t *record, yes bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if w := t.by; w != nil && !w.lost {
		x.slots.waits(w, yes)
		x.wakeLocked()
	}
}
