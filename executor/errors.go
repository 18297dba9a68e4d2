package executor

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/retry"
)

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

	// RetryAfter is when the tasks in the queue are expected to be worked off, by
	// how long the last ones took: 1 ns to 24 h, and 1 s as long as none has ended.
	RetryAfter time.Duration
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
