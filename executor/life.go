package executor

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// calls notes that an attempt begins.
func (t *record) calls(a attempt) {
	now := t.x.clock.Elapsed()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.life.attempts++
	if a.holds() || t.course != nil {
		t.courseLocked().attempt = a
	}
	t.moveLocked(Calling, now)
}

// waits takes back that an attempt begins.
func (t *record) waits() {
	now := t.x.clock.Elapsed()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calling, t.life.attempts = false, 0
	t.moveLocked(Processing, now)
}

// admitted notes what the task had to wait for, if it had to.
func (t *record) admitted(by throttle.Bound) {
	if by.Kind == throttle.NotBound {
		return
	}
	now := t.x.clock.Elapsed()
	t.mu.Lock()
	defer t.mu.Unlock()
	if waited := now - t.life.last(); waited > 0 && t.life.state == Processing {
		t.noteLocked(now, note{kind: noteWaited, wait: waited, bound: by})
	}
}

// answered notes what came of an attempt: a task that was refused waits on.
func (t *record) answered(f adaptive.Feedback, err error) {
	refused := !f.Final && (f.Verdict == adaptive.Hit || f.Verdict == adaptive.Overloaded)
	now := t.x.clock.Elapsed()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.courseLocked().used = f.Used
	if refused {
		t.moveLocked(Processing, now)
		t.noteLocked(now, note{kind: noteRefused, wait: f.RetryAfter, err: err})
	}
}

// again notes that the task waits for another attempt.
func (t *record) again(delay time.Duration, err error) {
	now := t.x.clock.Elapsed()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moveLocked(Processing, now)
	t.noteLocked(now, note{kind: noteRetry, wait: delay, err: err})
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
		t.x.conclude(t, givenUp(cause), cause)
		t.x.settle(t)
		return
	}
	t.giveUp(cause)
}

// unqueue takes t over from the queue; false if it is not there.
func (x *Executor) unqueue(t *record) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.where != inQueue {
		return false
	}
	x.takeLocked(t)
	return true
}

// wait returns when the task has ended, and in the end of ctx. Inside of another task of
// the same executor it works on the task itself if nobody else does. When intake,
// which may be nil, ends, a task that nobody works on yet is given up.
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

// help works on the task, if nobody else does, in the slot whose turn it is.
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
