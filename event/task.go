package event

import (
	"log/slog"
	"time"
)

// What executors tell. Source is the executor's name, and Event.Task has more.
// Key is the task's ID. A task whose life is over is told once, by TaskCompleted,
// TaskFailed or TaskCancelled; one that was turned away for want of room is not told of. TaskQueued is
// told by who submits, and may come after what a worker tells of the same task.
const (
	// TaskQueued: a task has its place in the queue. Wait is how long it waited for room.
	TaskQueued Kind = "task.queued"

	// TaskStarted: a worker has the task. Wait is how long it was in the queue.
	TaskStarted Kind = "task.started"

	// TaskRetry: attempt number Attempt ended with Err and the task goes again in Wait.
	TaskRetry Kind = "task.retry"

	// TaskCompleted: the call returned. Attempt counts the attempts that were
	// made, Wait is how long the task took since it was submitted.
	TaskCompleted Kind = "task.completed"

	// TaskFailed: the task ended with Err. Attempt and Wait are as in TaskCompleted.
	TaskFailed Kind = "task.failed"

	// TaskCancelled: somebody on this side gave the task up, which Err says. Attempt
	// and Wait are as in TaskCompleted.
	TaskCancelled Kind = "task.cancelled"

	// ExecutorPaused: no task is begun any more; Event.Task has how many wait.
	ExecutorPaused Kind = "executor.paused"
	// ExecutorResumed: tasks are begun again.
	ExecutorResumed Kind = "executor.resumed"
	// ExecutorChanged: somebody set another concurrency, from From to To, or other limits, which Reason gives.
	ExecutorChanged Kind = "executor.changed"
	// ExecutorStopping: no task is taken in any more. Those that are there are worked on.
	ExecutorStopping Kind = "executor.stopping"
	// ExecutorStopped: every task has ended. Err is why some were cut short, or nil.
	ExecutorStopped Kind = "executor.stopped"
)

// Task is what the events of executors tell besides. Nobody changes it after it was sent.
type Task struct {
	// Task is the number of the task in its executor, from 1; 0 in what concerns none.
	Task int64
	// Priority is the one that it was submitted with.
	Priority int
	// Queue is how many tasks were in the queue just then, and Running how many were worked on.
	Queue, Running int
	// Queued, Waited and Called are how long the task has been in the queue, how long it
	// has waited for limits and between attempts, and how long its calls took.
	Queued, Waited, Called time.Duration
}

// attrs leaves out what the task does not have.
func (t *Task) attrs(as []slog.Attr) []slog.Attr {
	if t.Task != 0 {
		as = append(as, slog.Int64("task", t.Task))
	}
	if t.Priority != 0 {
		as = append(as, slog.Int("priority", t.Priority))
	}
	as = append(as, slog.Int("queue", t.Queue), slog.Int("running", t.Running))
	for _, d := range [...]struct {
		key  string
		took time.Duration
	}{{"queued", t.Queued}, {"waited", t.Waited}, {"called", t.Called}} {
		if d.took != 0 {
			as = append(as, slog.Duration(d.key, d.took))
		}
	}
	return as
}
