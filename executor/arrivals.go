package executor

import (
	"runtime"
	"sync"
)

// The fast path of Submit. A task of priority 0 that finds room goes into a list with a lock of its own, which workers
// take only when they need it: neither side waits for the other at every task.
//
// The list is the end of the queue. Every method but next takes both locks (lock), first that of the executor, and then moves
// the list to the queue (merge). What it sees and does is thus what it would be if there were no list. Two things happen
// under one lock alone, and each is right whatever happens under the other:
//
//   - arrive, under the lock of the list, appends a task if there are places left. unlock has counted them, and since
//     then only arrive has filled one, while workers can but have made more. So a task that is appended has room, and it
//     comes behind all tasks of its priority, because those that are in the queue were appended earlier. It takes effect
//     when it is appended. A task that finds no place takes both locks, and is rejected or waits only if the queue is full then.
//   - A worker, under the lock of the executor, takes the head of the queue if that has a priority of 0 or above
//     (atHandLocked). No task of the list goes before it. So it does not matter which of them have arrived by then: this
//     take and any arrive have the same effect in both orders.
//
// No arrival is missed. There are places only while nothing has to be done about a task that arrives (quietLocked): the
// executor runs, its watch looks, and either no task may begin, which whatever changes that looks at again under both locks,
// or the queue is not empty. In the second case wakeLocked has made sure that a worker is on its way to the queue, if there
// is one to be had. A worker takes a task under the lock of the executor alone only if it leaves another in the queue, and
// calls wakeLocked as well. So as long as the queue is not empty all of this stays true. A worker that takes the last task, or finds
// none, holds both locks, and lets no further task pass.
//
// What the watch looks at, WithRoomTimeout, Stop and Close need nothing of this: they take both locks.

// arrivals are the tasks at the end of the queue.
type arrivals struct {
	mu     sync.Mutex // guards what follows; taken after that of the executor
	tasks  list       // of priority 0
	places int        // how many more may arrive without the lock of the executor
	seq    int64      // of the last task that was queued
}

// direct makes every task take the lock of the executor. Tests set it.
var direct bool //nolint:gochecknoglobals // see above

// arrive puts t at the end of the queue, and reports whether it could.
func (x *Executor) arrive(t *record) bool {
	if t.priority != 0 {
		return false
	}
	a := &x.arrivals
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.places == 0 {
		return false
	}
	a.places--
	x.queuedLocked(t, t.life.last())
	a.tasks.push(t)
	return true
}

// lock takes the locks of the executor. All but next and arrive take them by this.
func (x *Executor) lock() {
	x.mu.Lock()
	x.mergeLocked()
}

// unlock ends lock, and has tasks begun that may begin.
func (x *Executor) unlock() {
	x.partLocked()
	x.mu.Unlock()
}

// mergeLocked lets no task arrive until partLocked, and moves those that have to the queue.
func (x *Executor) mergeLocked() {
	x.arrivals.mu.Lock()
	x.queue.append(&x.arrivals.tasks)
}

func (x *Executor) partLocked() {
	x.wakeLocked()
	x.smooth, x.arrivals.places = x.smoothLocked(), 0
	if x.quietLocked() {
		x.arrivals.places = x.config.Queue - x.queue.len
	}
	x.arrivals.mu.Unlock()
}

// lingerLocked has a worker look for arrivals for a while before it sleeps, because waking it takes as long as many short calls.
func (x *Executor) lingerLocked() {
	x.lingers = true
	x.partLocked()
	x.mu.Unlock()
	for range lingerings {
		runtime.Gosched()
		if x.arrivals.any() {
			break
		}
	}
	x.mu.Lock()
	x.mergeLocked()
	x.lingers = false
}

// any reports whether tasks have arrived.
func (a *arrivals) any() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tasks.len > 0
}

const lingerings = 16

// quietLocked reports whether nothing has to be done when a task arrives.
func (x *Executor) quietLocked() bool {
	return x.phase == running && !x.dozing && !direct && (x.queue.len > 0 || x.lingers || !x.readyLocked())
}

// smoothLocked reports whether a worker that has ended a task may go on with the next one in the same slot, if the guard is
// free.
func (x *Executor) smoothLocked() bool {
	s := &x.slots
	return x.turn == nil && !x.paused && x.room.len == 0 && x.settled == nil && !direct &&
		s.used <= s.most && s.waiting+s.strange+s.resting+len(s.returning) == 0
}

// atHandLocked returns the head of the queue if no task that has arrived goes before it, and it is not the last one there.
func (x *Executor) atHandLocked() *record {
	if x.queue.len < 2 || x.queue.levels[0].priority < 0 {
		return nil
	}
	return x.queue.levels[0].tasks.head
}

// swapLocked has w go on with t, the head of the queue.
func (x *Executor) swapLocked(w *worker, t *record) {
	x.pace.note(w.took)
	w.task.where = nowhere
	if x.cursor == t {
		x.cursor = nil
	}
	x.queue.remove(t)
	t.where, t.by, w.task = taken, w, t
}
