package executor

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/throttle"
)

// job is what a task does, with its result where only the task finds it.
type job interface {
	call(ctx context.Context) error
}

// record is a task without the type of its result. A task in the queue costs
// this and nothing else: no goroutine, no channel, no context.
type record struct {
	x        *Executor
	seq      int64
	ctx      context.Context //nolint:containedctx // of whoever submitted it: it is for the task
	job      job
	cost     throttle.Cost
	priority int
	single   bool   // no policy repeats it
	calling  bool   // begin has taken it to its first call; of whoever works on it
	observed bool   // somebody is told its events
	extra    *extra // nil: nothing was said beyond the fields above

	// Guarded by the executor's mu.
	where      place
	late       uint8 // for how many looks of the watch its context has been over while it was worked on
	prev, next *record
	by         *worker       // nil: whoever waits for it works on it
	ready      chan struct{} // closed when it has got room; nil if nobody waits for that

	mu       sync.Mutex // guards everything below; taken after the executor's mu, never before
	life     life
	err      error
	cause    error         // why it was given up before anybody worked on it
	done     chan struct{} // nil until somebody asks
	attempts int
	course   *course // nil: nothing was out of the ordinary
	scope    scope
}

// course is what few tasks go through, or are asked for.
type course struct {
	used    throttle.Cost
	notes   []note
	dropped int // notes
	attempt attempt
	subs    *fanout
}

func (t *record) courseLocked() *course {
	if t.course == nil {
		t.course = new(course)
	}
	return t.course
}

// attempt is what has to be given back if the call of a task does not return.
type attempt struct {
	ctx      context.Context //nolint:containedctx // of the attempt, for whoever gives up on it
	admitted bool            // by a limiter, which has to hear of the end
	ticket   breaker.Ticket
}

// holds reports whether there is anything to give back.
func (a *attempt) holds() bool { return a.admitted || a.ticket != breaker.Ticket{} }

// extra is what few tasks have.
type extra struct {
	deadline time.Time
	metadata map[string]string
	room     time.Duration // how long to wait for room
	request  *request
	response *response
	problems []error // of the options
}

func (t *record) more() *extra {
	if t.extra == nil {
		t.extra = new(extra)
	}
	return t.extra
}

func (t *record) id() string { return t.x.name + "-" + strconv.FormatInt(t.seq, 10) }

// begin has the task worked on, under the context that it returns. If it was
// given up in the meantime, that context has ended. undo, which may be nil, releases what it needs.
// atOnce says that nothing is in the way of the call.
func (t *record) begin(now time.Duration, atOnce bool) (ctx context.Context, undo func()) {
	parent, undo := t.bounded()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.scope.parent, t.scope.of = parent, t //nolint:fatcontext // it is the task's one and only
	if t.cause != nil {
		t.scope.end(t.cause)
		return &t.scope, undo
	}
	t.moveLocked(Processing, now)
	if atOnce && parent.Err() == nil {
		t.attempts, t.calling = 1, true
		t.moveLocked(Calling, now)
	}
	return &t.scope, undo
}

// bounded is the context of whoever submitted the task, with the task's deadline.
func (t *record) bounded() (ctx context.Context, undo func()) {
	if t.extra == nil || t.extra.deadline.IsZero() {
		return t.ctx, nil
	}
	if t.x.clock.Real() {
		ctx, cancel := context.WithDeadlineCause(t.ctx, t.extra.deadline, errDeadline)
		return ctx, cancel
	}
	ctx, cancel := context.WithCancelCause(t.ctx)
	timer := t.x.clock.AfterFunc(t.extra.deadline.Sub(t.x.clock.Now()), func() { cancel(errDeadline) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

var errDeadline error = deadlineError{}

type deadlineError struct{}

func (deadlineError) Error() string { return "executor: the deadline of the task has passed" }

// Unwrap makes it what everybody looks for.
func (deadlineError) Unwrap() error { return context.DeadlineExceeded }

// expired is why nothing is to be begun of a task that nobody works on yet, or nil.
func (t *record) expired() error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if t.extra != nil && !t.extra.deadline.IsZero() && !t.x.clock.Now().Before(t.extra.deadline) {
		return errDeadline
	}
	return nil
}

// moveLocked takes the task to another state and tells who listens.
func (t *record) moveLocked(to State, now time.Duration) {
	from := t.life.state
	if !t.life.move(to, now) {
		return
	}
	own := t.course != nil && t.course.subs != nil
	if !own && !t.x.subs.any() {
		return
	}
	c := Change{Task: t.id(), From: from, To: to, At: t.x.clock.At(t.life.last), Err: t.err}
	t.x.subs.tell(c, false)
	if own {
		t.course.subs.tell(c, to.Terminal())
	}
}

// end takes the task to a terminal state; false if it was in one.
func (t *record) end(to State, err error, now time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life.state.Terminal() || !t.life.state.may(to) {
		return false
	}
	t.err = err
	t.moveLocked(to, now)
	if t.course != nil {
		t.course.attempt = attempt{}
	}
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

// called is when the last attempt began.
func (t *record) called() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.x.clock.At(t.life.last)
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

// outcome is the state that err leaves a task in whose context is ctx: what
// was given up is Cancelled, what was too late has Failed.
func outcome(ctx context.Context, err error) State {
	switch {
	case err == nil:
		return Completed
	case ctx.Err() != nil && cutShort(err, context.Cause(ctx)):
		return givenUp(context.Cause(ctx))
	}
	return Failed
}

// givenUp is the state of a task that ended because of cause.
func givenUp(cause error) (s State) {
	defer func() { _ = recover() }() // the methods of cause are user code
	s = Cancelled
	if errors.Is(cause, context.DeadlineExceeded) {
		s = Failed
	}
	return s
}

// cutShort reports whether err is that of code which was stopped because of cause.
func cutShort(err, cause error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.Is(err, context.Canceled) || errors.Is(err, cause)
}
