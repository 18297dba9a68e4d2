package executor

import (
	"context"
)

// Task is a submitted call. It is safe for concurrent use.
type Task[T any] struct {
	record

	do    func(context.Context) (T, error)
	value T // written by the goroutine that runs the task, and not read before it is Completed
}

// call implements job.
func (t *Task[T]) call(ctx context.Context) error {
	out, err := t.do(ctx)
	if err != nil {
		return err
	}
	t.value = out
	return nil
}

// release implements job: a retained task need not retain what its call refers to.
func (t *Task[T]) release() { t.do = nil }

// ID is the name of the executor and a number from 1. Executors of one name use the
// same IDs: give each a Config.Name.
func (t *Task[T]) ID() string { return t.id() }

// State returns the current state.
func (t *Task[T]) State() State { return t.state() }

// Done returns a channel that is closed when the task has ended.
func (t *Task[T]) Done() <-chan struct{} { return t.ended() }

// Wait returns the result of the task when it has ended. The error is that of the
// call, or ErrCancelled, ErrStopped, the cause of the context of Submit, or an error of
// the limits, the breaker or the deadline.
//
// If ctx ends first Wait returns context.Cause(ctx), and the task goes on. Inside a
// call of the same executor ctx must be that of the call: then Wait runs the task
// itself if no worker has it.
func (t *Task[T]) Wait(ctx context.Context) (T, error) {
	if got, over, err := t.result(); over {
		return got, err
	}
	late := t.wait(ctx, nil)
	got, over, err := t.result()
	if !over {
		return got, late
	}
	return got, err
}

// result returns the outcome of the task, if it has ended.
func (t *Task[T]) result() (got T, over bool, err error) {
	if t.completed.Load() {
		return t.value, true, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.life.state == Completed:
		return t.value, true, nil
	case t.life.state.Terminal():
		return got, true, t.errLocked()
	}
	return got, false, nil
}

// Cancel ends a queued task, and the context of a running one, with ErrCancelled.
func (t *Task[T]) Cancel() { t.stop(ErrCancelled) }

// Info returns a snapshot of the task.
func (t *Task[T]) Info() Info { return t.info() }

// Subscribe is Executor.Subscribe for this task.
func (t *Task[T]) Subscribe(n int) *Subscription { return t.subscribe(n) }
