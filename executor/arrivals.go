package executor

import (
	"runtime"
	"sync"
)

// The fast path of tasks. A task of priority 0 that finds room goes into a list with a lock of its own, and a worker that has
// ended a task takes the next one in the same slot (see swap.go), so submitters and workers need not wait for each other.
//
// The list is the end of the queue. All other code takes both locks (see lock), that of the executor first, and moves the list
// to the queue (mergeLocked), so it acts as if there were no list. Two things happen under one lock only, and each is correct
// whatever happens under the other:
//
//   - arrive, under the lock of the list, appends a task if there are places left. partLocked has counted them. Since then
//     only arrive has filled any, and workers can only have made more, so an appended task has room. It comes behind
//     all tasks of its priority, because those in the queue were appended earlier. A task that finds no place takes both
//     locks, and is rejected or waits only if the queue is still full.
//   - swapLocked, under the lock of the executor, takes the head of the queue if its priority is 0 or above. No task of the
//     list goes before it, however many have arrived. So this and arrive have the same effect in either order, and every
//     history is one that a single lock allows.
//
// No arrival is missed. There are places only while nothing has to be done when a task arrives (quietLocked): the
// executor runs, its watch is awake, and one of these holds:
//
//   - no task may begin. Whatever changes this takes both locks, and looks at the queue (wakeLocked, from partLocked);
//   - the queue is not empty. Then wakeLocked has woken or hired a worker if it could, or all workers are busy. The next one
//     that takes both locks calls wakeLocked again. swapLocked leaves a task in the queue, so this holds until then;
//   - a worker lingers: it takes both locks before it sleeps.
//
// So a worker that takes the last task of the queue, or finds none, leaves places only if no other task may begin, or if a
// worker lingers.

// arrivals are the tasks at the end of the queue.
type arrivals struct {
	mu     sync.Mutex // guards what follows; taken after that of the executor
	tasks  list       // of priority 0
	places int        // for tasks that arrive without the lock of the executor
	seq    int64      // of the last task that was queued
}

// direct turns the fast path off. Tests set it.
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

// lock takes both locks.
func (x *Executor) lock() {
	x.mu.Lock()
	x.mergeLocked()
}

// unlock ends lock, and has a worker begin what may begin.
func (x *Executor) unlock() {
	x.partLocked()
	x.mu.Unlock()
}

// mergeLocked lets no task arrive until partLocked, and moves those that have arrived to the queue.
func (x *Executor) mergeLocked() {
	x.arrivals.mu.Lock()
	x.queue.append(&x.arrivals.tasks)
}

func (x *Executor) partLocked() {
	x.wakeLocked()
	x.smooth = x.smoothLocked()
	x.arrivals.places = 0
	if x.quietLocked() {
		x.arrivals.places = max(0, x.config.Queue-x.queue.len) // a call may have put one more there: see enter
	}
	x.arrivals.mu.Unlock()
}

// quietLocked reports whether nothing has to be done when a task arrives.
func (x *Executor) quietLocked() bool {
	return x.phase == running && !x.dozing && !direct && (x.queue.len > 0 || x.lingers || !x.readyLocked())
}

// lingerings is how often a worker looks for arrivals before it sleeps, some microseconds in all: waking it takes longer.
const lingerings = 16

// lingerLocked returns when tasks have arrived, or have not for a while. It gives both locks up in between.
func (x *Executor) lingerLocked() {
	x.lingers = true
	x.unlock()
	for range lingerings {
		runtime.Gosched()
		if x.arrivals.any() {
			break
		}
	}
	x.lock()
	x.lingers = false
}

func (a *arrivals) any() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tasks.len > 0
}
