package executor

import (
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/inflight"
)

// worker is one of the goroutines that work on tasks. Its fields are guarded
// by the executor's mu.
type worker struct {
	task  *record
	holds bool          // a slot
	waits bool          // its task waits for a guard of its own
	rests bool          // its task is between two attempts, and has no slot
	lost  bool          // it was left behind: another has its place
	now   time.Duration // its own: the present, if it knows it
	took  time.Duration // its own: how long it worked on the last task

	strange bool // the guard may not count its call
}

// wantedLocked returns how many workers there should be, not counting those with a task that waits without a slot. At most as
// many abandoned workers are replaced as may run, so that calls that never return cannot exhaust memory.
func (x *Executor) wantedLocked() int {
	s := &x.slots
	return s.most - max(0, x.left-max(s.most, x.config.Concurrency))
}

// spareLocked is how many workers there are above that.
func (x *Executor) spareLocked() int {
	s := &x.slots
	return len(x.workers) - s.resting - s.ahead() - x.wantedLocked()
}

// hireLocked starts a worker, if there are less than wanted.
//
//nolint:contextcheck,nolintlint // contextcheck reads it here: a worker has no context, and each task has that of its submitter
func (x *Executor) hireLocked() {
	if x.spareLocked() < 0 {
		w := new(worker)
		x.workers[w] = struct{}{}
		go x.run(w)
	}
}

func (x *Executor) run(w *worker) {
	returned := false
	defer func() {
		if !returned { // runtime.Goexit in the call
			x.replace(w)
		}
	}()
	for t := x.next(w); t != nil; t = x.next(w) {
		x.perform(t, w)
	}
	returned = true
}

// replace ends w after its call has ended the goroutine. Another is hired when there is work.
func (x *Executor) replace(w *worker) {
	defer func() { // also if an observer does so
		x.lock()
		defer x.unlock()
		if w.lost {
			x.goneLocked()
			return
		}
		x.dismissLocked(w)
		x.fireLocked(w)
	}()
	if t := w.task; t != nil { // only w and the watch write it, which keeps it
		x.conclude(t, Failed, errGoexit)
	}
}

// fireLocked forgets w, which ends.
func (x *Executor) fireLocked(w *worker) {
	delete(x.workers, w)
	x.overLocked()
}

// next ends what w has worked on and waits for the next task; nil if w is to leave.
func (x *Executor) next(w *worker) *record {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.nextAtHandLocked(w); t != nil {
		return t
	}
	x.mergeLocked()
	defer x.partLocked()
	if w.lost {
		x.goneLocked()
		return nil
	}
	x.dismissLocked(w)
	for lingered := false; !x.mayLocked(); {
		if x.phase == closing || x.phase == draining && x.queue.len == 0 {
			delete(x.workers, w)
			x.work.Broadcast() // another may have waited for what w had
			x.overLocked()
			return nil
		}
		if x.spareLocked() > 0 {
			x.fireLocked(w)
			return nil
		}
		w.now = 0
		if !lingered && !x.lingers {
			lingered = true
			x.lingerLocked()
			continue
		}
		x.idle++
		x.partLocked()
		x.work.Wait()
		x.mergeLocked()
		x.idle--
		x.waking = false
	}
	t := x.queue.head()
	x.outLocked(t)
	x.busy++
	w.task, t.by = t, w
	if !inflight.Free(x.guard) { // it never is once a task has guards of its own: see confine
		x.turn, t.inTurn = w, true
	}
	x.slots.take(w)
	if x.dozing {
		x.pokeLocked()
	}
	return t
}

// pass lets a worker take the next task, because t has its place in the queues of
// its guards, or has ended. Only the goroutine of t calls it.
func (x *Executor) pass(t *record) {
	if !t.inTurn {
		return
	}
	t.inTurn = false
	x.passed(t)
	x.tellTask(t, event.TaskStarted, nil) // not earlier: other tasks do not wait for an observer
}

func (x *Executor) passed(t *record) {
	x.lock()
	defer x.unlock()
	x.passLocked(t.by)
}

// passLocked ends the turn of w, if it has it.
func (x *Executor) passLocked(w *worker) {
	if x.turn == w {
		x.turn = nil
	}
}

// mayLocked reports whether a task of the queue may be begun.
func (x *Executor) mayLocked() bool {
	return x.queue.len > 0 && x.readyLocked()
}

// readyLocked reports whether a task may be begun, if there is one.
func (x *Executor) readyLocked() bool {
	return x.turn == nil && x.slots.free() && !x.paused && len(x.slots.returning) == 0
}

// wakeLocked makes a worker check whether it may begin. Only one is woken at a time, and it wakes the next if there is more
// work than it takes: most of a burst of short calls is done by then.
func (x *Executor) wakeLocked() {
	switch {
	case !x.mayLocked():
	case x.idle == 0:
		x.hireLocked()
	case !x.waking:
		x.waking = true
		x.work.Signal()
	}
}

// takeLocked takes t out of the queue for something else than a worker.
func (x *Executor) takeLocked(t *record) {
	x.outLocked(t)
	x.others.push(t)
}

// outLocked takes t out of the queue, which makes room.
func (x *Executor) outLocked(t *record) {
	if x.cursor == t {
		x.cursor = nil
	}
	x.queue.remove(t)
	t.where = taken
	x.fillLocked()
}

// dismissLocked takes back what w has for its task.
func (x *Executor) dismissLocked(w *worker) {
	if w.task == nil {
		return
	}
	x.pace.note(w.took)
	x.leaveLocked(w.task)
	w.task = nil
	x.freeLocked(w)
}

// freeLocked takes back the slot of w, and its turn.
func (x *Executor) freeLocked(w *worker) {
	x.passLocked(w)
	x.slots.give(w)
	x.returnLocked()
}

// leaveLocked forgets t, which has ended.
func (x *Executor) leaveLocked(t *record) {
	if t.where != taken {
		return
	}
	t.where = nowhere
	if t.by == nil {
		x.others.remove(t)
	} else {
		x.busy--
	}
	x.settleLocked()
}

func (x *Executor) settle(t *record) {
	x.lock()
	defer x.unlock()
	x.leaveLocked(t)
}

// overLocked ends the executor when it is to end and no worker is left, unless
// tasks are queued for those that may come back.
func (x *Executor) overLocked() {
	if x.phase < draining || len(x.workers) > 0 || x.phase == draining && x.queue.len > 0 {
		return
	}
	select {
	case <-x.over:
	default:
		close(x.over)
	}
}
