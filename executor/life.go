package executor

import (
	"context"
	"time"
)

// calls notes that an attempt begins.
func (t *record) calls(ctx context.Context) {
	var now time.Duration // none has passed since the task was begun
	if t.asked {
		now = t.x.clock.Elapsed()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.callsLocked(ctx, now)
}

// giveUp ends the task's context, also if it has none yet.
func (t *record) giveUp(cause error) {
	t.mu.Lock()
	if c := t.courseLocked(); c.cause == nil {
		c.cause = cause
	}
	begun := t.begunLocked()
	t.mu.Unlock()
	if begun {
		t.scope().end(cause)
	}
}

// stop ends the task because of cause, wherever it is.
func (t *record) stop(cause error) {
	if t.x.unqueue(t) {
		defer t.x.settle(t) // also if an observer ends the goroutine
		t.x.conclude(t, givenUp(cause), cause)
		return
	}
	t.giveUp(cause)
}

// unqueue takes t over from the queue; false if it is not there.
func (x *Executor) unqueue(t *record) bool {
	x.lock()
	defer x.unlock()
	if t.where != inQueue {
		return false
	}
	x.takeLocked(t)
	return true
}

// wait returns when the task or ctx has ended. Inside another task of the same executor it runs the task itself if no worker
// has it. When intake, which may be nil, ends, a task that has not begun is cancelled.
func (t *record) wait(ctx context.Context, intake context.Context) error {
	done := t.ended()
	select {
	case <-done:
		return nil
	default:
	}
	var stopped <-chan struct{}
	if intake != nil {
		stopped = intake.Done()
	}
	turn := t.x.lender(ctx)
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-stopped:
			stopped = nil
			if t.x.unqueue(t) {
				t.x.conclude(t, Cancelled, context.Cause(intake))
				t.x.settle(t)
			}
		case turn <- struct{}{}:
			t.help(turn) //nolint:contextcheck // a task has its own
			turn = nil
		}
	}
}

// help runs the task in the slot that turn hands out, unless a worker has it.
func (t *record) help(turn chan struct{}) {
	defer func() { <-turn }()
	if !t.x.unqueue(t) {
		return
	}
	defer t.x.settle(t)
	returned := false
	defer func() {
		if !returned { // runtime.Goexit
			t.x.conclude(t, Failed, errGoexit)
		}
	}()
	t.x.perform(t, nil)
	returned = true
}
