package executor

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/retry"
)

// Errors to match.
var (
	// ErrStopped is returned by an executor or model that was stopped or closed, and by
	// the tasks that this ended.
	ErrStopped error = stoppedError{retry.Permanent(errors.New("executor: stopped"))}

	// ErrCancelled is the error of a task that Task.Cancel ended.
	ErrCancelled = errors.New("executor: the task was cancelled")

	// ErrInside is returned by Stop and Join inside a call of the same executor: they
	// would wait for themselves.
	ErrInside = errors.New("executor: a call cannot wait for the end of its own executor: do it in a goroutine with a context of its own")

	// ErrQueueFull is matched by every *QueueFullError.
	ErrQueueFull = errors.New("executor: the queue is full")

	errGoexit = errors.New("executor: the call ended its goroutine with runtime.Goexit")
)

// stoppedError is retried by no policy.
type stoppedError struct{ error }

// Unwrap returns the mark.
func (e stoppedError) Unwrap() error { return e.error }

// QueueFullError is returned if there was no room for a task.
type QueueFullError struct {
	Depth      int           // tasks in the queue
	RetryAfter time.Duration // estimate of when the queue will be empty: 1 ns to 24 h

	executor string
	waited   time.Duration // for room; 0: TrySubmit
}

// Error implements error.
func (e *QueueFullError) Error() string {
	if e.waited > 0 {
		return fmt.Sprintf("executor %q: the queue is still full with %d tasks after %s", e.executor, e.Depth, e.waited)
	}
	return fmt.Sprintf("executor %q: the queue is full with %d tasks: Submit waits for room", e.executor, e.Depth)
}

// Is matches ErrQueueFull.
func (e *QueueFullError) Is(target error) bool { return target == ErrQueueFull }
