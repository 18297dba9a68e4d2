package executor

import (
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// tell sends an event of the executor. It is never called with a lock held.
func (x *Executor) tell(kind event.Kind, fill func(e *event.Event)) {
	if x.config.Policy.Observer == nil {
		return
	}
	e := event.New(x.clock.Now(), kind, x.name)
	e.Task = x.load()
	fill(&e)
	emit.Send(x.config.Policy.Observer, e)
}

// stopped ends the executor.
func (x *Executor) stopped() {
	defer close(x.watched) // also if an observer ends the goroutine
	x.subs.end()
	x.tell(event.ExecutorStopped, func(e *event.Event) { e.Err = x.cutBy() })
}

// load returns the current load.
func (x *Executor) load() *event.Task {
	x.lock()
	defer x.unlock()
	return &event.Task{Queue: x.queue.len, Running: x.busy}
}

// tellTask sends an event of a task, to the executor's observer and to those of the task's context.
func (x *Executor) tellTask(t *record, kind event.Kind, fill func(e *event.Event)) {
	if !t.observed {
		return
	}
	theirs := event.From(t.ctx)
	e := event.New(x.clock.Now(), kind, x.name)
	e.Task = x.load()
	t.describe(&e)
	if fill != nil {
		fill(&e)
	}
	emit.Send(emit.Except(x.config.Policy.Observer, theirs), e)
	emit.Send(theirs, e)
}

func (t *record) describe(e *event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, now := &t.life, t.x.clock.Until(e.Time)
	e.Index, e.Key, e.Attempt = t.seq-1, t.id(), int(l.attempts)
	e.Task.Task, e.Task.Priority = t.seq, int(t.priority)
	e.Task.Queued, e.Task.Waited, e.Task.Called = l.in(Queued, now), l.in(Processing, now), l.in(Calling, now)
	switch e.Kind {
	case event.TaskQueued:
		e.Wait = l.in(Pending, now)
	case event.TaskStarted:
		e.Wait = l.in(Queued, now)
	default:
		e.Wait = l.last() - l.first(Pending)
	}
}

// tellEnd reports the end of t.
func (x *Executor) tellEnd(t *record, to State, err error) {
	if !t.observed {
		return
	}
	kind := event.TaskCancelled
	switch to {
	case Completed:
		kind = event.TaskCompleted
	case Failed:
		kind = event.TaskFailed
	case Pending, Queued, Processing, Calling, Cancelled:
	}
	x.tellTask(t, kind, func(e *event.Event) { e.Err = err })
}

// conclude ends t and reports whether it was the first to do so.
func (x *Executor) conclude(t *record, to State, err error) bool {
	return x.concludeAt(t, to, err, x.clock.Elapsed())
}

func (x *Executor) concludeAt(t *record, to State, err error, now time.Duration) bool {
	if !t.end(to, err, now) {
		return false
	}
	x.tellEnd(t, to, err)
	return true
}
