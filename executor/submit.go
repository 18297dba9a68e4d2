package executor

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/internal/invalid"
)

// Submit hands call in and returns its task. With a full queue it waits for
// room, in the order of arrival; WithRoomTimeout bounds that wait.
//
// ctx is for the task as well: its values reach call, and when it ends the
// task ends, waiting or not. A task that is to outlive a request is submitted
// with context.WithoutCancel. What waits in the queue is looked at four
// times a second: until then a task whose context is over may still be Queued.
//
// Inside of a call of the same executor ctx should be the one of that call.
// Then Submit does not wait for room that cannot come: with a full queue the new task is worked on
// in place, in the slot of the call that submits it, and has ended when Submit returns.
//
// The error is ErrStopped, context.Cause(ctx), a *QueueFullError, one that is
// context.DeadlineExceeded because WithDeadline came before room did, or joined
// *FieldErrors about the arguments. Then there is no task.
func Submit[T any](ctx context.Context, x *Executor, call func(context.Context) (T, error), opts ...SubmitOption) (*Task[T], error) {
	return submit(ctx, x, call, opts, true)
}

// TrySubmit is Submit, but never waits: with a full queue, or others who wait
// for room in it, the error is a *QueueFullError, whose RetryAfter can be sent
// in a Retry-After header.
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

// SubmitAll submits a task for each item, while the sequence that it returns
// is ranged over: as far as there is room, and no farther ahead. At the first error of
// Submit that is yielded, and the sequence ends. Leaving the loop submits
// nothing more; the tasks that were yielded go on.
func SubmitAll[In, T any](
	ctx context.Context, x *Executor, items iter.Seq[In], call func(context.Context, In) (T, error), opts ...SubmitOption,
) iter.Seq2[*Task[T], error] {
	return func(yield func(*Task[T], error) bool) {
		if items == nil || call == nil {
			yield(nil, missing(x, items == nil, call == nil))
			return
		}
		for in := range items {
			t, err := Submit(ctx, x, func(ctx context.Context) (T, error) { return call(ctx, in) }, opts...)
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

func missing(x *Executor, items, call bool) error {
	p := invalid.Problems{Owner: "executor: " + x.name}
	if items {
		p.Addf("items", "the sequence is nil")
	}
	if call {
		p.Addf("call", "the function is nil")
	}
	return p.Err()
}

// submit puts t into the queue, or has it worked on in place.
func (x *Executor) submit(t *record, opts []SubmitOption, waits bool) error {
	ctx := t.ctx
	for _, o := range opts {
		if o != nil {
			o(t)
		}
	}
	if t.extra != nil && t.extra.problems != nil {
		return errors.Join(t.extra.problems...)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.observed = x.config.Policy.Observer != nil || event.From(ctx) != nil
	t.life.begin(x.clock.Elapsed())
	ready, err := x.admit(t, waits)
	if ready != nil {
		err = x.awaitRoom(t, ready)
	}
	if err == nil {
		x.tellTask(t, event.TaskQueued, nil)
	}
	return err
}

// admit gives t its place in the queue, or in the line of those who wait for
// one: then ready is closed when it waits no more.
func (x *Executor) admit(t *record, waits bool) (ready <-chan struct{}, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
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
	x.mu.Lock()
	defer x.mu.Unlock()
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
	x.seq++
	t.seq, t.where = x.seq, inQueue
	x.queue.push(t)
	t.moveLocked(Queued, now) // nobody else knows t yet
	x.wakeLocked()
	if x.dozing && (x.paused || len(x.workers) == 0) {
		x.pokeLocked()
	}
}

// fillLocked gives the room that there is to those who wait for it.
func (x *Executor) fillLocked() {
	for x.room.len > 0 && x.queue.len < x.config.Queue {
		t := x.room.head
		x.room.remove(t)
		t.readyLocked()
		x.enqueueLocked(t, x.clock.Elapsed())
	}
}

// readyLocked tells who waits for room with t, which nobody else knows yet, to look.
func (t *record) readyLocked() {
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

// entered is what became of t, which waits for room no more.
func (x *Executor) entered(t *record) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.where == nowhere && t.life.state == Pending { // nobody else has it
		return ErrStopped
	}
	return nil
}

// withdraw takes t out of the line; false if it is not in it.
func (x *Executor) withdraw(t *record) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.where != inRoom {
		return false
	}
	x.room.remove(t)
	t.where = nowhere
	x.settleLocked()
	return true
}

// enter lets t, whose slot is there, pass by those who wait for room.
func (x *Executor) enter(t *record) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.where != inRoom {
		return false
	}
	x.room.remove(t)
	t.done = nil
	x.enqueueLocked(t, x.clock.Elapsed())
	return true
}

func (x *Executor) full(waited time.Duration) *QueueFullError {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.fullLocked(waited)
}

func (x *Executor) fullLocked(waited time.Duration) *QueueFullError {
	return &QueueFullError{
		Executor: x.name, Depth: x.queue.len, Waited: waited, RetryAfter: x.pace.room(x.queue.len, x.slots.most),
	}
}
