package node

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/throttle"
)

// task is one item that a worker has to deal with.
type task[In, Out any] struct {
	res   Result[In, Out]
	began time.Time // zero if there is no observer
	entry *entry    // nil without a journal
	err   error     // the input failed to produce the item
	hung  error     // another worker was left behind with it
	ruled bool      // the failure policy has counted it

	ctx context.Context //nolint:containedctx // for the item, where it is traced; nil: that of the run
}

// context is the one to work on t under.
func (r *run[S, In, Out]) context(t *task[In, Out]) context.Context {
	if t.ctx != nil {
		return t.ctx
	}
	return r.ctx
}

// next gives w the next item; false if there is none.
func (r *run[S, In, Out]) next(w *worker[In, Out]) bool {
	it, ok := r.take()
	if ok {
		w.busy, w.task = true, task[In, Out]{
			res: Result[In, Out]{Index: it.index, In: it.in}, began: r.stamp(), entry: it.entry, err: it.err,
			ctx: r.traces.begin(r.ctx, r.b.name, it.index),
		}
	}
	return ok
}

// handle sees to it that the task of w gets a result; false if w is lost.
func (r *run[S, In, Out]) handle(w *worker[In, Out]) bool {
	err := r.do(w)
	if w.isLost() {
		return false
	}
	w.busy = false
	r.finish(&w.task, err)
	return true
}

// do works on the task of w. A panic of the user's code is the item's error.
func (r *run[S, In, Out]) do(w *worker[In, Out]) (err error) {
	defer caught(&err)
	b, t := r.b, &w.task
	if t.err != nil {
		return t.err
	}
	if err = t.hung; err == nil {
		if b.key != nil {
			t.res.Key = b.key(t.res.In)
		}
		if r.resume != nil {
			if done, err := r.recall(t); done {
				return err
			}
		}
		if err = r.try(w); err == nil {
			err = r.keep(t)
		}
	}
	if err != nil && b.fallback != nil && r.intake.Err() == nil && !tooLate(r.ctx, err) && !w.isLost() {
		if t.res.Out, err = r.replaced(t, err); err == nil {
			err = r.keep(t)
		}
	}
	return err
}

// replaced is what the fallback makes of t, which has failed with err.
func (r *run[S, In, Out]) replaced(t *task[In, Out], err error) (Out, error) {
	ctx, end := r.resume.inside(r.context(t), t.entry)
	defer end()
	return r.b.fallback(ctx, t.res.In, err)
}

func (r *run[S, In, Out]) try(w *worker[In, Out]) error {
	var cost throttle.Cost
	res := &w.task.res
	if r.b.cost != nil {
		cost = r.b.cost(res.In)
	}
	if stopped := ended(r.ctx); stopped != nil {
		return stopped
	}
	w.said, w.around, w.counted = nil, r.context(&w.task), nil
	err := r.b.attempts(w.around, res.Index, cost, &w.attempter)
	if !w.isLost() {
		w.counted.Keep()
	}
	if late := lateIn(err); late != nil && late != lateIn(w.said) { // it was not Exec that asked a limiter
		r.stop(&lateError{err})
	}
	return err
}

// exec makes one attempt at an item.
func (r *run[S, In, Out]) exec(ctx context.Context, w *worker[In, Out], t breaker.Ticket) (err error) {
	res, bounded := &w.task.res, ctx
	if r.b.timeout > 0 {
		var cancel context.CancelFunc
		bounded, cancel = r.b.withTimeout(ctx)
		defer cancel()
	}
	if r.resume != nil {
		var end func()
		bounded, end = r.resume.inside(bounded, w.task.entry)
		defer end()
	} else {
		bounded, w.counted = occurrence.Attempt(bounded) // another may follow, and is to meet the same items inside
	}
	bounded, w.traced = r.b.tracedAttempt(bounded, r.attempts, res.Index, res.Attempts)
	w.ticket = t
	w.ctx, w.admitted = bounded, ctx != w.around // a limiter's call has a context of its own; else ctx may lie in a call further out
	attempt, ok := w.begin()
	if !ok {
		t.Cancel()
		w.told(errAbandoned)
		return errAbandoned
	}
	var out Out
	returned := false
	defer func() {
		told := err
		if !returned && err == nil {
			told = errGoexit
		}
		switch {
		case !w.end(attempt):
			err = errAbandoned
			return // whoever left the worker behind has told
		case err == nil:
			res.Out = out
		}
		w.told(told)
	}()
	defer caught(&err)
	if r.b.timeout > 0 {
		unwatch := context.AfterFunc(bounded, func() { r.watch(w, attempt) })
		defer unwatch()
	}
	out, err = r.b.exec(bounded, res.Index, res.In)
	returned = true
	if err != nil {
		return namedTimeout(bounded, err)
	}
	if r.b.used != nil && w.admitted {
		adaptive.Use(ctx, r.b.used(res.In, out))
	}
	return nil
}
