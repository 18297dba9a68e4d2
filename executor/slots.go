package executor

import "slices"

// lookahead is how many tasks for each slot may wait without one: for a guard
// of their own, or between two attempts. Each takes a goroutine.
const lookahead = 4

// slots counts the tasks that are worked on against Concurrency. The executor's
// mu guards it.
type slots struct {
	most      int
	used      int         // by tasks that left the queue and are not between two attempts
	waiting   int         // of these, tasks that wait for a guard of their own
	strange   int         // of these, tasks with a call that the guard may not count
	resting   int         // workers with a task between two attempts
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

// rests gives up the slot of w until the next attempt of its task.
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
