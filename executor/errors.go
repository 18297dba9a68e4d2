package executor

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/retry"
)

// FieldError is one field of a configuration that cannot be used. Constructors
// join one for each problem; errors.As finds the first.
// It is one type in all packages, with the fields Owner, Field and Problem, all strings.
type FieldError = invalid.FieldError

var (
	// ErrStopped is of an executor that was stopped or closed, and of the tasks
	// that this cut short. It is not started again: make a new one.
	ErrStopped error = stoppedError{retry.Permanent(errors.New("executor: stopped"))}

	// ErrCancelled is the cause of a task that Task.Cancel ended.
	ErrCancelled = errors.New("executor: the task was cancelled")

	// ErrInside is of Stop and Join with the context of a call of the same
	// executor: they would wait for themselves. Nothing has happened.
	ErrInside = errors.New("executor: a call cannot wait for the end of its own executor: do it in a goroutine with a context of its own")

	// ErrQueueFull is matched by every *QueueFullError.
	ErrQueueFull = errors.New("executor: the queue is full")

	errGoexit = errors.New("executor: the call ended its goroutine with runtime.Goexit")
)

// stoppedError is retried by no policy.
type stoppedError struct{ error }

// Unwrap returns the mark.
func (e stoppedError) Unwrap() error { return e.error }

// QueueFullError says that there was no room for a task. It matches ErrQueueFull.
type QueueFullError struct {
	Executor string
	Depth    int           // tasks in the queue
	Waited   time.Duration // for room, by WithRoomTimeout; 0: TrySubmit
}

// Error gives the depth, and how long room was waited for.
func (e *QueueFullError) Error() string {
	if e.Waited > 0 {
		return fmt.Sprintf("executor %q: the queue is still full with %d tasks after %s", e.Executor, e.Depth, e.Waited)
	}
	return fmt.Sprintf("executor %q: the queue is full with %d tasks: Submit waits for room", e.Executor, e.Depth)
}

// Is reports whether target is ErrQueueFull.
func (e *QueueFullError) Is(target error) bool { return target == ErrQueueFull }

// PanicError is a panic of a call, turned into the error of its task.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // the stack at that moment
}

// Error gives the value; Stack is left to whoever wants it.
func (e *PanicError) Error() string { return fmt.Sprintf("executor: panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// caught turns a panic into the error at err. It has to be deferred itself.
func caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case *PanicError: // it was caught where the stack was still there
		*err = p
	default:
		*err = &PanicError{Value: p, Stack: debug.Stack()}
	}
}

// HungError is the error of a task whose call went on after its context had
// ended. Its slot was given back and its goroutine left behind.
type HungError struct {
	After time.Duration // how long the call was given to return, at least
	Cause error         // why the context ended
}

// Error says how long the call was waited for.
func (e *HungError) Error() string {
	return fmt.Sprintf("executor: the call did not return within %s of the end of its context: %v", e.After, e.Cause)
}

// Unwrap returns Cause.
func (e *HungError) Unwrap() error { return e.Cause }
