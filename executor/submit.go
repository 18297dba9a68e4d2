package executor

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/internal/invalid"
)

// Submit hands in a call and returns its task. If the queue is full it waits for
// room, first come, first served.
//
// The task gets the values of ctx, and is cancelled when ctx ends; use
// context.WithoutCancel for a task that should outlive ctx. Inside a call of the same
// executor ctx must be that of the call: then a full queue does not block, because the
// new task runs in the slot of the call.
//
// Errors are ErrStopped, context.Cause(ctx), a *QueueFullError after WithRoomTimeout,
// context.DeadlineExceeded after WithDeadline, or *fault.FieldErrors.
func Submit[T any](ctx context.Context, x *Executor, call func(context.Context) (T, error), opts ...SubmitOption) (*Task[T], error) {
	return submit(ctx, x, call, opts, true)
}

// TrySubmit is Submit without waiting: if there is no room it returns a *QueueFullError. Its RetryAfter can go into a
// Retry-After header.
func TrySubmit[T any](ctx context.Context, x *Executor, call func(context.Context) (T, error), opts ...SubmitOption) (*Task[T], error) {
	return submit(ctx, x, call, opts, false)
}

func submit[T any](ctx context.Context, x *Executor, call func(context.Context) (T, error), opts []SubmitOption, waits bool) (*Task[T], error) {
	t := &Task[T]{record: record{x: x, ctx: ctx}, do: call}
	t.job = t
	if call == nil {
		t.problem("call", "the function is nil")
	}
	if err := x.submit(&t.record, opts, waits); err != nil { //nolint:contextcheck // a task has its own
		return nil, err
	}
	return t, nil
}

// submit puts t into the queue, or has it worked on in place.
func (x *Executor) submit(t *record, opts []SubmitOption, waits bool) error {
	ctx := t.ctx
	if x.guard == nil {
		t.problem("x", "the executor is a zero value: use New")
	}
	invalid.Options(nil, opts, t)
	if t.extra != nil && t.extra.problems != nil {
		return errors.Join(t.extra.problems...)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(t.within()) > 0 {
		if err := x.confine(); err != nil {
			return err
		}
	}
	t.observed = x.config.Policy.Observer != nil || event.From(ctx) != nil
	t.life.begin(x.clock.Elapsed())
	var err error
	if !x.arrive(t) {
		var ready <-chan struct{}
		if ready, err = x.admit(t, waits); ready != nil {
			err = x.awaitRoom(t, ready)
		}
	}
	if err == nil {
		x.tellTask(t, event.TaskQueued, nil)
	}
	return err
}

// admit puts t into the queue, or into the line of tasks that wait for room. ready is closed when that wait is over.
func (x *Executor) admit(t *record, waits bool) (ready <-chan struct{}, err error) {
	x.lock()
	defer x.unlock()
	if err := x.startLocked(); err != nil && (x.phase == closing || !x.insideLocked(t.ctx)) {
		return nil, err
	}
	if x.room.len == 0 && x.queue.len < x.config.Queue {
		x.enqueueLocked(t, t.life.last())
		return nil, nil
	}
	if !waits {
		return nil, x.fullLocked(0)
	}
	t.where, t.done = inRoom, make(chan struct{})
	x.room.push(t)
	return t.done, nil
}

func (x *Executor) inside(ctx context.Context) bool {
	x.lock()
	defer x.unlock()
	return x.insideLocked(ctx)
}

// insideLocked reports whether ctx is of a call that this executor makes, and
// so goes on until that has ended.
func (x *Executor) insideLocked(ctx context.Context) bool {
	for s := scopeOf(ctx); s != nil; s = scopeOf(s.ctx) { //nolint:contextcheck // it goes outwards
		if s.x == x {
			return s.where == taken
		}
	}
	return false
}

func (x *Executor) enqueueLocked(t *record, now time.Duration) {
	x.queuedLocked(t, now)
	x.queue.push(t)
	if x.dozing && (x.paused || len(x.workers) == 0) {
		x.pokeLocked()
	}
}

// queuedLocked gives t its place in the order of tasks.
func (x *Executor) queuedLocked(t *record, now time.Duration) {
	x.arrivals.seq++
	t.seq, t.where = x.arrivals.seq, inQueue
	t.moveLocked(Queued, now) // no other goroutine has t yet
}

// fillLocked moves waiting tasks into the free places of the queue.
func (x *Executor) fillLocked() {
	for x.room.len > 0 && x.queue.len < x.config.Queue {
		t := x.room.head
		x.room.remove(t)
		t.enterLocked()
		x.enqueueLocked(t, x.clock.Elapsed())
	}
}

// enterLocked wakes the submitter of t, the only goroutine that has t yet.
func (t *record) enterLocked() {
	ready := t.done
	t.done = nil
	close(ready)
}

// awaitRoom waits until t has its place in the queue.
func (x *Executor) awaitRoom(t *record, ready <-chan struct{}) error {
	var late chan struct{}
	if d, ok := t.forRoom(); ok {
		late = make(chan struct{})
		timer := x.clock.AfterFunc(d, func() { close(late) })
		defer timer.Stop()
	}
	var stopped <-chan struct{} // of the intake
	in, ok := intake.Of(t.ctx)
	if ok && t.single {
		stopped = in.Done()
	}
	turn := x.lender(t.ctx)
	for {
		select {
		case <-ready:
			return x.entered(t)
		case turn <- struct{}{}:
			if x.enter(t) {
				t.help(turn)
				return nil
			}
			<-turn
			turn = nil
		case <-t.ctx.Done():
			if x.withdraw(t) {
				return context.Cause(t.ctx)
			}
		case <-stopped:
			stopped = nil
			if x.withdraw(t) {
				return context.Cause(in)
			}
		case <-late:
			late = nil
			if !x.withdraw(t) {
				continue
			}
			if err := t.expired(); err != nil {
				return err
			}
			return x.full(t.extra.room)
		}
	}
}

// forRoom is how long the task may wait for room, if that is bounded: by WithRoomTimeout and its deadline.
func (t *record) forRoom() (d time.Duration, bounded bool) {
	if t.extra == nil {
		return 0, false
	}
	d, bounded = t.extra.room, t.extra.room > 0
	if at := t.extra.deadline; !at.IsZero() {
		if left := at.Sub(t.x.clock.Now()); !bounded || left < d {
			d, bounded = left, true
		}
	}
	return d, bounded
}

// entered returns how the wait of t for room ended.
func (x *Executor) entered(t *record) error {
	x.lock()
	defer x.unlock()
	if t.where == nowhere && t.life.state == Pending { // no other goroutine has it
		return ErrStopped
	}
	return nil
}

// withdraw takes t out of the line; false if it is not in it.
func (x *Executor) withdraw(t *record) bool {
	x.lock()
	defer x.unlock()
	if t.where != inRoom {
		return false
	}
	x.room.remove(t)
	t.where = nowhere
	x.settleLocked()
	return true
}

// enter moves t, which has a slot, past the tasks that wait for room.
func (x *Executor) enter(t *record) bool {
	x.lock()
	defer x.unlock()
	if t.where != inRoom {
		return false
	}
	x.room.remove(t)
	t.done = nil
	x.enqueueLocked(t, x.clock.Elapsed())
	return true
}

func (x *Executor) full(waited time.Duration) *QueueFullError {
	x.lock()
	defer x.unlock()
	return x.fullLocked(waited)
}

func (x *Executor) fullLocked(waited time.Duration) *QueueFullError {
	return &QueueFullError{
		executor: x.name, Depth: x.queue.len, waited: waited, RetryAfter: x.pace.room(x.queue.len, x.slots.most),
	}
}
