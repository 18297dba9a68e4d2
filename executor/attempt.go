package executor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/panics"
)

// perform works on t until it has ended. w is nil if the slot is lent.
func (x *Executor) perform(t *record, w *worker) {
	var begun time.Duration
	if w != nil {
		begun = x.present(w)
	}
	var err error
	undo := t.bind()
	defer func() {
		t.scope().close()
		if err == nil || !hung(err) { // else the call still uses it
			t.job.release()
		}
		if undo != nil {
			undo()
		}
	}()
	err = x.guarded(t)
	if t.inTurn {
		x.pass(t)
	}
	now := x.clock.Elapsed()
	x.concludeAt(t, outcome(t.scope(), err), err, now)
	if w != nil {
		w.now, w.took = now, now-begun
	}
}

// present is the time at which w begins a task; w is nil if the slot is lent.
func (x *Executor) present(w *worker) time.Duration {
	if w == nil {
		return x.clock.Elapsed()
	}
	if w.now == 0 {
		w.now = x.clock.Elapsed()
	}
	return w.now
}

// hung reports whether err is that of a call that was left behind.
func hung(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.As(err, new(*fault.HungError))
}

// guarded runs the call of t under its guards.
func (x *Executor) guarded(t *record) (err error) {
	defer panics.Catch(&err) // of the functions of a Policy
	return inflight.Do(t.guard(), t.scope(), t.reserves())
}

// guard returns the guard that the task's call must pass.
func (t *record) guard() *guard.Guard {
	g := t.x.guard
	if t.single && t.x.repeats() {
		g = t.x.once
	}
	if within := t.within(); len(within) > 0 {
		return guard.Join(append(slices.Clip(within), g)...)
	}
	return g
}

// repeats reports whether the guard may repeat attempts.
func (x *Executor) repeats() bool {
	p := x.guard.Policy()
	return p.Retry != nil || len(p.Within) > 0
}

// call makes one attempt.
func (t *record) call(ctx context.Context) error {
	if _, own := ctx.(*scope); !own || t.life.attempts == 0 { // else it began with the task
		t.calls(ctx)
	}
	err := t.job.call(ctx)
	if err != nil {
		if answer, ok := adaptive.AnswerIn(err); ok {
			t.respond(answer.Status, answer.Header, answer.Body)
		}
	}
	return err
}
