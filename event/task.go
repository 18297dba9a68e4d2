package event

import (
	"log/slog"
	"time"
)

// Executors. Source is the executor's name, Key the task's ID. Each task that was
// accepted ends with one TaskCompleted, TaskFailed or TaskCancelled. TaskQueued
// is emitted by the submitter, and may come after later events of the task.
const (
	// TaskQueued: a task entered the queue, after it waited for room for Wait.
	TaskQueued Kind = "task.queued"

	// TaskStarted: a worker has the task, after Wait in the queue.
	TaskStarted Kind = "task.started"

	// TaskRetry: attempt number Attempt failed with Err; the next one is in Wait.
	TaskRetry Kind = "task.retry"

	// TaskCompleted: the call succeeded after Attempt attempts, Wait after the
	// task was submitted.
	TaskCompleted Kind = "task.completed"

	// TaskFailed: the task failed with Err. Attempt and Wait as in TaskCompleted.
	TaskFailed Kind = "task.failed"

	// TaskCancelled: the program cancelled the task with Err. Attempt and Wait as in
	// TaskCompleted.
	TaskCancelled Kind = "task.cancelled"

	// ExecutorPaused: no task is started until ExecutorResumed.
	ExecutorPaused Kind = "executor.paused"
	// ExecutorResumed: tasks are started again.
	ExecutorResumed Kind = "executor.resumed"
	// ExecutorChanged: the program changed the concurrency, From to To, or limits, in Reason.
	ExecutorChanged Kind = "executor.changed"
	// ExecutorStopping: no task is accepted any more; accepted ones continue.
	ExecutorStopping Kind = "executor.stopping"
	// ExecutorStopped: every task has ended, with Err if some were stopped.
	ExecutorStopped Kind = "executor.stopped"
)

// Task is the detail of the events of executors. It is immutable.
type Task struct {
	// Task is the number of the task, from 1; 0 if the event concerns none.
	Task int64
	// Priority is the task's priority.
	Priority int
	// Queue and Running are how many tasks were in the queue and in progress.
	Queue, Running int
	// Queued is the task's time in the queue, Waited its wait for limits and between
	// attempts, Called the time of its calls.
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
			as = append(as, milliseconds(d.key, d.took))
		}
	}
	return as
}
