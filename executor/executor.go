package executor

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/clock"
)

// phase is how far the executor is in its own life. It only grows.
type phase uint8

const (
	fresh    phase = iota // no worker has been started
	running               // the workers work
	draining              // no task is accepted
	closing               // the remaining tasks are cancelled
)

// Executor is a bounded queue in front of workers. It is safe for concurrent use.
type Executor struct {
	name   string
	config Config
	guard  *guard.Guard
	once   *guard.Guard // the same without its retries
	clock  clock.Clock
	subs   fanout
	past   *inside              // of all tasks that ended before anything asked for theirs
	_      [64]byte             // what is only read is not in a cache line with what every task writes
	ended  [states]atomic.Int64 // tasks, by terminal state
	_      [64]byte

	resizing sync.Mutex  // held while Concurrency changes; taken before mu
	confined atomic.Bool // the guard bounds the calls as well; changes under resizing

	_        [128]byte
	arrivals arrivals // tasks that only submitters have written
	_        [128]byte

	mu      sync.Mutex // guards everything below, and the place of each task in the queue
	work    sync.Cond  // workers that have nothing to do wait on it
	queue   queue
	room    list    // tasks that wait for room, in the order in which they came
	others  list    // tasks that left the queue for something else than a worker, and have not ended
	busy    int     // tasks that a worker has, or was left behind with
	cursor  *record // where the next look through the queue begins
	phase   phase
	paused  bool
	smooth  bool // nothing is in the way of a worker that goes on with the next task
	slots   slots
	pace    pace
	idle    int     // workers that wait on work, or are on their way from there
	waking  bool    // one is on its way
	lingers bool    // one looks for arrivals before it sleeps
	turn    *worker // its task has no place in the queues of its guards yet, and no other task is taken until it has; nil: there is none
	workers map[*worker]struct{}
	left    int           // goroutines that were left behind
	dozing  bool          // the watch waits on wake
	wake    chan struct{} // holds one when the watch should look again
	over    chan struct{} // closed when no worker is left that is waited for
	watched chan struct{} // closed when the watch has ended
	settled chan struct{} // closed when nothing is queued or worked on; nil if nothing waits for that
	cut     error         // why tasks were cut short; nil if none were
}

// New returns an executor, which starts at the first Submit. Problems of c are joined, each a *fault.FieldError. Close it when
// it is no longer needed.
func New(c Config) (*Executor, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.filled()
	x := &Executor{
		name: c.Name, config: c, clock: clock.New(c.Policy.Clock),
		slots: slots{most: c.Concurrency}, workers: map[*worker]struct{}{},
		past: past(), wake: make(chan struct{}, 1), over: make(chan struct{}), watched: make(chan struct{}),
	}
	x.work.L = &x.mu
	var err error
	if x.guard, x.once, err = c.guards(); err != nil {
		return nil, err
	}
	return x, nil
}

// Name returns Config.Name.
func (x *Executor) Name() string { return x.name }

// Guard returns the guard of all calls, made from Config.Policy. Its Set changes the
// policy, but use SetConcurrency for Limits.Concurrency.
func (x *Executor) Guard() *guard.Guard { return x.guard }

func (x *Executor) startLocked() error {
	switch x.phase {
	case fresh:
		x.phase = running
		go x.watch()
	case running:
	case draining, closing:
		return ErrStopped
	}
	return nil
}

// Stop accepts no more tasks, completes those already submitted, and returns
// when the last has ended. If ctx ends first it cancels the remaining tasks
// like Close and returns context.Cause(ctx). A paused executor starts nothing
// until Resume. Inside a call of the same executor Stop returns ErrInside.
func (x *Executor) Stop(ctx context.Context) error {
	if x.inside(ctx) {
		return ErrInside
	}
	x.drain()
	select {
	case <-x.watched:
		return x.cutBy()
	case <-ctx.Done():
	}
	x.giveUp(context.Cause(ctx))
	<-x.watched
	return x.cutBy()
}

// Close cancels all tasks, also queued ones, with ErrStopped and returns when they have
// ended; Stop completes them. A call that ignores its context is abandoned after about
// a second. The error is nil.
func (x *Executor) Close() error {
	x.drain()
	x.giveUp(ErrStopped)
	<-x.watched
	return nil
}

func (x *Executor) cutBy() error {
	x.lock()
	defer x.unlock()
	return x.cut
}

// drain ends the intake.
func (x *Executor) drain() {
	first, idle := x.drained()
	defer func() { // also if an observer ends the goroutine
		x.lock()
		defer x.unlock()
		x.work.Broadcast()
		x.pokeLocked()
	}()
	if idle {
		defer x.stopped()
	}
	if first {
		x.tell(event.ExecutorStopping, func(*event.Event) {})
	}
}

// drained reports whether it was the first to end the intake, and whether there never was a watch.
func (x *Executor) drained() (first, idle bool) {
	x.lock()
	defer x.unlock()
	if x.phase >= draining {
		return false, false
	}
	idle = x.phase == fresh
	x.phase = draining
	for t := x.room.head; t != nil; {
		next := t.next
		if !x.insideLocked(t.ctx) { // a call that is under way goes on to its end
			x.room.remove(t)
			t.where = nowhere
			t.enterLocked()
		}
		t = next
	}
	x.settleLocked()
	return true, idle
}

// giveUp cancels every remaining task.
func (x *Executor) giveUp(cause error) {
	queued, active := x.close(cause)
	for _, t := range active {
		t.giveUp(ErrStopped)
	}
	x.endAll(queued, func(t *record) { x.conclude(t, Cancelled, ErrStopped) })
}

// endAll ends tasks that no worker has, also if an observer ends the goroutine at one of them.
func (x *Executor) endAll(tasks []*record, end func(t *record)) {
	defer func() {
		if len(tasks) > 0 {
			x.endAll(tasks, end)
		}
	}()
	for len(tasks) > 0 {
		t := tasks[0]
		tasks = tasks[1:]
		func() {
			defer x.settle(t)
			end(t)
		}()
	}
}

// close prevents further tasks from starting and returns the waiting and the running ones.
func (x *Executor) close(cause error) (queued, active []*record) {
	x.lock()
	defer x.unlock()
	x.phase = closing
	if x.cut == nil && x.queue.len+x.activeLocked() > 0 {
		x.cut = cause
	}
	for t := range x.tasksLocked() {
		active = append(active, t)
	}
	for t := x.room.head; t != nil; t = x.room.head {
		x.room.remove(t)
		t.where = nowhere
		t.enterLocked()
	}
	for t := x.queue.head(); t != nil; t = x.queue.head() {
		x.takeLocked(t)
		queued = append(queued, t)
	}
	x.work.Broadcast()
	x.pokeLocked()
	x.overLocked()
	return queued, active
}

// Join waits until no task is left, also of those submitted meanwhile. It returns
// context.Cause(ctx) if ctx ends first, and ErrInside inside a call of the same executor.
func (x *Executor) Join(ctx context.Context) error {
	if x.inside(ctx) {
		return ErrInside
	}
	for {
		settled := x.unsettled()
		if settled == nil {
			return nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (x *Executor) unsettled() <-chan struct{} {
	x.lock()
	defer x.unlock()
	if x.idleLocked() {
		return nil
	}
	if x.settled == nil {
		x.settled = make(chan struct{})
	}
	return x.settled
}

// settleLocked wakes Join, and Stop if no worker is left to do it.
func (x *Executor) settleLocked() {
	x.overLocked()
	if x.settled != nil && x.idleLocked() {
		close(x.settled)
		x.settled = nil
	}
}

// Done returns a channel that is closed when the executor has stopped.
func (x *Executor) Done() <-chan struct{} { return x.watched }

// activeLocked is how many tasks have left the queue and not ended.
func (x *Executor) activeLocked() int { return x.busy + x.others.len }

// idleLocked reports whether there is nothing to do, and nothing to come.
func (x *Executor) idleLocked() bool { return x.queue.len+x.room.len+x.activeLocked() == 0 }

// tasksLocked yields the tasks that are worked on.
func (x *Executor) tasksLocked() iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for w := range x.workers {
			if w.task != nil && !yield(w.task) {
				return
			}
		}
		for t := x.others.head; t != nil; t = t.next {
			if !yield(t) {
				return
			}
		}
	}
}
