package executor

import "github.com/headrace/headrace/internal/inflight"

// smoothLocked reports whether a worker may take the next task in the slot that it has: nothing else waits for the slot, and no
// more slots are in use than there should be. It stays true until both locks are taken.
func (x *Executor) smoothLocked() bool {
	s := &x.slots
	return x.turn == nil && !x.paused && x.room.len == 0 && !direct &&
		s.used <= s.most && s.waiting+s.strange+s.resting+len(s.returning) == 0
}

// nextAtHandLocked ends the task of w and returns the next one, if that takes nothing but the lock of the executor (see
// arrivals.go): the head of the queue, unless a task that has arrived may go before it, or it is the last one.
func (x *Executor) nextAtHandLocked(w *worker) *record {
	if !x.smooth || w.task == nil || w.lost || x.queue.len < 2 || x.queue.levels[0].priority < 0 || !inflight.Free(x.guard) {
		return nil
	}
	return x.swapLocked(w)
}

// swapLocked is dismissLocked, and then takes the head of the queue.
func (x *Executor) swapLocked(w *worker) *record {
	t := x.queue.head()
	x.pace.note(w.took)
	w.task.where = nowhere
	if x.cursor == t {
		x.cursor = nil
	}
	x.queue.remove(t)
	t.where, t.by, w.task = taken, w, t
	return t
}
