package executor

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// job is what a task does, with its result where only the task finds it.
type job interface {
	call(ctx context.Context) error
	release() // what only call needs
}

// record is a task without the type of its result. A task in the queue costs
// this and nothing else: no goroutine, no channel, no context. What only some
// tasks have is behind a pointer: with a result of one word a task is 224
// bytes, and most of what a short call costs is their allocation and collection.
type record struct {
	x *Executor

	// Guarded by the executor's mu.
	seq        int64
	prev, next *record
	by         *worker // nil: the goroutine that waits for it runs it
	where      place

	single    bool // no policy repeats it
	asked     bool // its guard had to be asked for admission; of the goroutine of the call
	loose     bool // its call was not admitted, and its scope is the context of that; set before the call is made
	observed  bool // there are observers of its events
	inTurn    bool // no other task is taken until pass; of the goroutine of the call
	priority  int32
	completed atomic.Bool     // set with the state, for Wait
	cost      *throttle.Cost  // nil: not set
	extra     *extra          // as above, of all else
	ctx       context.Context //nolint:containedctx // of the submitter: it is for the task
	job       job
	inside    atomic.Pointer[inside] // nil until more than the values of ctx is needed

	mu      sync.Mutex      // guards what follows; taken after the executor's mu, never before
	attempt context.Context //nolint:containedctx // of the last one; nil if none was begun, or the task has ended
	course  *course         // nil: nothing was out of the ordinary
	done    chan struct{}   // nil until first used; while the task waits for room, closed when that wait ends
	life    life
}

// reserves is what the call is expected to cost.
func (t *record) reserves() throttle.Cost {
	if t.cost == nil {
		return throttle.Cost{}
	}
	return *t.cost
}

// errLocked is the error that the task ended with.
func (t *record) errLocked() error {
	if t.course == nil {
		return nil
	}
	return t.course.err
}

// course holds what only few tasks need.
type course struct {
	used    throttle.Cost
	notes   []note
	dropped int // notes
	subs    *fanout
	cause   error // why it was cancelled
	err     error // it ended with
	late    uint8 // for how many looks of the watch its context has been over while it was worked on
}

func (t *record) courseLocked() *course {
	if t.course == nil {
		t.course = new(course)
	}
	return t.course
}

// extra is what few tasks have.
type extra struct {
	deadline    time.Time
	metadata    map[string]string
	correlation string        // of the last request
	room        time.Duration // how long to wait for room
	request     *request
	response    *response
	within      []*guard.Guard // besides that of the executor
	problems    []error        // of the options
}

// within are the guards that only this task has to pass.
func (t *record) within() []*guard.Guard {
	if t.extra == nil {
		return nil
	}
	return t.extra.within
}

func (t *record) more() *extra {
	if t.extra == nil {
		t.extra = new(extra)
	}
	return t.extra
}

func (t *record) id() string { return t.x.name + "-" + strconv.FormatInt(t.seq, 10) }

// begin marks the task as running, and with calls set its first attempt too, unless the task was cancelled in the meantime.
func (t *record) begin(now time.Duration, calls bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.course != nil && t.course.cause != nil {
		t.scope().end(t.course.cause)
		return
	}
	t.moveLocked(Processing, now)
	if calls {
		t.callsLocked(t.scope(), now)
	}
}

func (t *record) callsLocked(ctx context.Context, now time.Duration) {
	t.life.attempts++
	t.attempt = ctx
	t.moveLocked(Calling, now)
}

// begunLocked reports whether begin has given the task its own context.
func (t *record) begunLocked() bool { return t.life.entered(Processing) || t.inside.Load() != nil }

// bind ends the context of the task at its deadline, if it has one. undo, which may be nil, releases the resources.
func (t *record) bind() (undo func()) {
	if t.extra == nil || t.extra.deadline.IsZero() {
		return nil
	}
	if t.x.clock.Real() {
		ctx, cancel := context.WithDeadlineCause(t.ctx, t.extra.deadline, errDeadline)
		t.bound(ctx)
		return cancel
	}
	ctx, cancel := context.WithCancelCause(t.ctx)
	timer := t.x.clock.AfterFunc(t.extra.deadline.Sub(t.x.clock.Now()), func() { cancel(errDeadline) })
	t.bound(ctx)
	return func() {
		timer.Stop()
		cancel(nil)
	}
}

// bound gives the task a context that ends earlier than that of its submitter.
func (t *record) bound(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inside.Store(&inside{parent: ctx})
}

var errDeadline error = deadlineError{}

type deadlineError struct{}

func (deadlineError) Error() string { return "executor: the deadline of the task has passed" }

// Unwrap returns the error that callers match.
func (deadlineError) Unwrap() error { return context.DeadlineExceeded }

// expired returns why a task that has not begun must not begin, or nil.
func (t *record) expired() error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if t.extra != nil && !t.extra.deadline.IsZero() && !t.x.clock.Now().Before(t.extra.deadline) {
		return errDeadline
	}
	return nil
}

// moveLocked moves the task to another state and notifies its subscribers.
func (t *record) moveLocked(to State, now time.Duration) {
	from := t.life.state
	if !t.life.move(to, now) {
		return
	}
	own := t.course != nil && t.course.subs != nil
	if !own && !t.x.subs.any() {
		return
	}
	c := Change{Task: t.id(), From: from, To: to, At: t.x.clock.At(t.life.last()), Err: t.errLocked()}
	t.x.subs.tell(c, false)
	if own {
		t.course.subs.tell(c, to.Terminal())
	}
}

// end moves the task to a terminal state. It returns false if the task was in one.
func (t *record) end(to State, err error, now time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life.state.Terminal() || !t.life.state.may(to) {
		return false
	}
	if err != nil {
		t.courseLocked().err = err
	}
	if !t.life.entered(Processing) {
		t.job.release() // nothing runs it
	}
	t.x.ended[to].Add(1) // before anything is notified
	t.moveLocked(to, now)
	if to == Completed {
		t.completed.Store(true)
	}
	t.attempt = nil
	if t.done != nil {
		close(t.done)
	}
	return true
}

func (t *record) state() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.life.state
}

// ended returns a channel that is closed when the task has ended.
func (t *record) ended() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		if t.life.state.Terminal() {
			close(t.done)
		}
	}
	return t.done
}

// outcome returns the state of a task after its call returned err under ctx: Cancelled if it was cancelled, Failed if it was too
// late.
func outcome(ctx context.Context, err error) State {
	switch {
	case err == nil:
		return Completed
	case ctx.Err() != nil && cutShort(err, context.Cause(ctx)):
		return givenUp(context.Cause(ctx))
	}
	return Failed
}

// givenUp returns the state of a task that was cancelled with cause.
func givenUp(cause error) (s State) {
	defer func() { _ = recover() }() // the methods of cause are user code
	s = Cancelled
	if errors.Is(cause, context.DeadlineExceeded) {
		s = Failed
	}
	return s
}

// cutShort reports whether err comes from code that was stopped with cause.
func cutShort(err, cause error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.Is(err, context.Canceled) || errors.Is(err, cause)
}

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
