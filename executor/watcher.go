package executor

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// watcher is the side of a task that its guard reports progress to.
type watcher record

var _ inflight.Watcher = (*watcher)(nil)

func (w *watcher) task() *record { return (*record)(w) }

// Waits lets another task begin if this one waits for a guard of its own, because others do not wait for that guard.
func (w *watcher) Waits() {
	t := w.task()
	t.asked = true
	if len(t.within()) > 0 {
		t.x.waits(t, true)
	}
}

// Queued lets a worker take the next task: its place is behind this one's.
func (w *watcher) Queued() { w.x.pass(w.task()) }

// Admitted notes what the task had to wait for, if it had to.
func (w *watcher) Admitted(by throttle.Bound) {
	t := w.task()
	t.x.pass(t)
	if len(t.within()) > 0 {
		t.x.waits(t, false)
	}
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

// Judged records the outcome of an attempt. A task that was rejected for rate keeps waiting.
func (w *watcher) Judged(f adaptive.Feedback, err error) {
	t := w.task()
	rejected := !f.Final && (f.Verdict == adaptive.Hit || f.Verdict == adaptive.Overloaded)
	if !rejected && f.Used == t.reserves() {
		return
	}
	now := t.x.clock.Elapsed()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.courseLocked().used = f.Used
	if rejected {
		t.moveLocked(Processing, now)
		t.noteLocked(now, note{kind: noteRefused, wait: f.RetryAfter, err: err})
	}
}

// Rejected notes that a breaker is open.
func (w *watcher) Rejected(err error) { w.task().note(note{kind: noteOpen, err: err}) }

// Retries notes that the task waits for another attempt, and gives its slot up.
func (w *watcher) Retries(_ int, delay time.Duration, err error) {
	t := w.task()
	now := t.x.clock.Elapsed()
	t.mu.Lock()
	t.moveLocked(Processing, now)
	t.noteLocked(now, note{kind: noteRetry, wait: delay, err: err})
	t.mu.Unlock()
	t.x.tellTask(t, event.TaskRetry, func(e *event.Event) { e.Wait, e.Err = delay, err })
	t.x.rest(t)
}

// Rested waits for a slot.
func (w *watcher) Rested(ctx context.Context) bool {
	t := w.task()
	return t.x.rise(ctx, t)
}
