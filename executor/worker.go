package executor

import (
	"context"
	"slices"
	"time"
)

// worker is one of the goroutines that work on tasks. Its fields are guarded
// by the executor's mu.
type worker struct {
	task  *record
	holds bool          // a slot
	now   time.Duration // its own: the present, if it knows it
	lost  bool          // it was left behind: another has its place
}

// hireLocked starts a worker.
func (x *Executor) hireLocked() {
	w := new(worker)
	x.workers[w] = struct{}{}
	go x.run(w)
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

// replace has another worker go on in the place of w, whose call has ended its goroutine.
func (x *Executor) replace(w *worker) {
	if t := w.task; t != nil { // only w and whoever leaves it behind write it, and that one keeps it
		x.conclude(t, Failed, errGoexit)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if w.lost {
		x.goneLocked()
		return
	}
	x.dismissLocked(w)
	delete(x.workers, w)
	x.hireLocked()
}

// next ends what w has worked on and waits for the next task; nil if w is to leave.
func (x *Executor) next(w *worker) *record {
	x.mu.Lock()
	defer x.mu.Unlock()
	if w.lost {
		x.goneLocked()
		return nil
	}
	x.dismissLocked(w)
	for !x.mayLocked() {
		if x.phase == closing || x.phase == draining && x.queue.len == 0 {
			delete(x.workers, w)
			x.work.Broadcast() // another may have waited for what w had
			x.overLocked()
			return nil
		}
		w.now = 0
		x.idle++
		x.work.Wait()
		x.idle--
		x.waking = false
	}
	t := x.queue.head()
	x.outLocked(t)
	x.busy++
	w.task, w.holds, t.by = t, true, w
	x.slots++
	if x.dozing {
		x.pokeLocked()
	}
	x.wakeLocked()
	return t
}

// mayLocked reports whether a task of the queue may be begun.
func (x *Executor) mayLocked() bool {
	return x.queue.len > 0 && x.slots < x.concurrency && !x.paused && len(x.returning) == 0
}

// wakeLocked has a worker look whether it may begin. One at a time is on its
// way, and wakes the next if there is more to do than it takes: most of a burst of short
// calls is done by then.
func (x *Executor) wakeLocked() {
	if x.idle > 0 && !x.waking && x.mayLocked() {
		x.waking = true
		x.work.Signal()
	}
}

// takeLocked takes t out of the queue for somebody who is no worker.
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
	x.leaveLocked(w.task)
	w.task = nil
	x.freeLocked(w)
}

// freeLocked takes back the slot of w.
func (x *Executor) freeLocked(w *worker) {
	if w.holds {
		w.holds = false
		x.slots--
	}
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
	x.mu.Lock()
	defer x.mu.Unlock()
	x.leaveLocked(t)
}

// overLocked ends the executor when it is to end and there is nobody left who
// could work, or nothing to do for those who may come back.
func (x *Executor) overLocked() {
	if x.phase < draining || len(x.workers) > 0 || x.phase == draining && x.missing > 0 && x.queue.len > 0 {
		return
	}
	select {
	case <-x.over:
	default:
		close(x.over)
	}
}

// returner is a task between two attempts, as it waits for a slot.
type returner struct {
	w     *worker
	ready chan struct{}
}

// rest gives the slot of w up for the time between two attempts.
func (x *Executor) rest(w *worker) {
	if w == nil { // the slot is lent, and stays with who lent it
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !w.lost {
		x.freeLocked(w)
		x.wakeLocked()
	}
}

// rise gets w a slot again, before all tasks that have not begun; false if ctx ends first.
func (x *Executor) rise(ctx context.Context, w *worker) bool {
	if w == nil {
		return true
	}
	r := &returner{w, make(chan struct{})}
	x.mu.Lock()
	x.returning = append(x.returning, r)
	x.returnLocked()
	x.mu.Unlock()
	select {
	case <-r.ready:
		return true
	case <-ctx.Done():
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := slices.Index(x.returning, r); i >= 0 {
		x.returning = slices.Delete(x.returning, i, i+1)
	}
	x.wakeLocked()
	return false
}

// returnLocked gives slots that are free to those between two attempts.
func (x *Executor) returnLocked() {
	for len(x.returning) > 0 && x.slots < x.concurrency && !x.paused {
		r := x.returning[0]
		x.returning = slices.Delete(x.returning, 0, 1)
		if !r.w.lost {
			r.w.holds = true
			x.slots++
		}
		close(r.ready)
	}
}
