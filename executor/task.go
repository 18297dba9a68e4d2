package executor

import (
	"context"
)

// Task is one call that was handed in. All methods are safe for concurrent use.
type Task[T any] struct {
	record

	do    func(context.Context) (T, error)
	value T // written by whoever works on the task, and read by nobody until it is Completed
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

// release implements job: whoever keeps a task that is over need not keep what its call was about.
func (t *Task[T]) release() { t.do = nil }

// ID names the task: the executor's name and a number that counts from 1.
func (t *Task[T]) ID() string { return t.id() }

// State is where the task is in its life.
func (t *Task[T]) State() State { return t.state() }

// Done returns a channel that is closed when the task has ended.
func (t *Task[T]) Done() <-chan struct{} { return t.ended() }

// Wait returns the result when the task has ended. The error is the call's, or
// why the call was not made or given up: ErrCancelled, ErrStopped, the cause of the
// context that it was submitted with, or what limits, breaker and deadline say.
//
// When ctx ends first the error is context.Cause(ctx), and the task goes on. Inside of a
// call of the same executor ctx has to be the one of that call: then Wait works on the task itself if
// no worker has it yet, since all of them may be waiting like this.
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

// result is what became of the task, if it is over.
func (t *Task[T]) result() (got T, over bool, err error) {
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

// Cancel gives the task up: one in the queue ends at once, of one that is worked on
// the context ends. Its error is ErrCancelled, unless the call returns
// something else. A task that has ended stays what it is.
func (t *Task[T]) Cancel() { t.stop(ErrCancelled) }

// Info returns what is known about the task.
func (t *Task[T]) Info() Info { return t.info() }

// Subscribe tells of every change of the task's state from now on, with room
// for n changes; see Executor.Subscribe. After the last one the channel is closed.
func (t *Task[T]) Subscribe(n int) *Subscription { return t.subscribe(n) }
