package node

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/ended"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/throttle"
)

// task is one item that a worker has to deal with.
type task[In, Out any] struct {
	res   Result[In, Out]
	began time.Time // zero without an observer
	entry *entry    // nil without a journal
	err   error     // the input failed to produce the item
	hung  error     // another worker was left behind with it
	ruled bool      // the failure policy has counted it

	unsent bool // the provider did not work on the last attempt

	ctx context.Context //nolint:containedctx // for the item, where it is traced; nil: that of the run
}

// context is the one to work on t under.
func (r *run[S, In, Out]) context(t *task[In, Out]) context.Context {
	if t.ctx != nil {
		return t.ctx
	}
	return r.ctx
}

// next gives w the next item. It returns false at the end.
func (r *run[S, In, Out]) next(w *worker[In, Out]) bool {
	it := &w.item
	ok := r.take(it)
	if ok {
		r.hireNext()
		w.busy, w.task = true, task[In, Out]{
			res: Result[In, Out]{Index: it.index, In: it.in}, began: emit.Now(r.observer), entry: it.entry, err: it.err,
			ctx: r.traces.begin(r.ctx, r.b.name, it.index),
		}
	}
	return ok
}

// handle sees to it that the task of w gets a result; false if w is lost.
func (r *run[S, In, Out]) handle(w *worker[In, Out]) bool {
	err := r.do(w)
	if !w.settles() {
		return false
	}
	w.busy = false
	r.finish(&w.task, err)
	r.finished()
	return w.settled()
}

// do works on the task of w. A panic of the user's code is the item's error.
func (r *run[S, In, Out]) do(w *worker[In, Out]) (err error) {
	defer panics.Catch(&err)
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
	if err != nil && b.fallback != nil && r.intake.Err() == nil && !tooLate(r.ctx, err) && !unadmitted(err) && !w.isLost() {
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

// try makes the calls for the task of w.
func (r *run[S, In, Out]) try(w *worker[In, Out]) error {
	res := &w.task.res
	var cost throttle.Cost
	if r.b.cost != nil {
		cost = r.b.cost(res.In)
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if r.intake.Err() != nil {
		return context.Cause(r.intake)
	}
	g := r.guardOf(res.In)
	w.said, w.counted = nil, nil
	w.around = r.watched(w)
	err := r.call(w, r.caller(w, g, cost), cost)
	if w.isLost() {
		return err
	}
	w.counted.Keep()
	if err == nil {
		return nil
	}
	if late := lateIn(err); late != nil && late != lateIn(w.said) && r.holds(late) { // it was not Exec that asked a guard
		r.last.CompareAndSwap(nil, &lateError{err})
	}
	return err
}

// watched is the context for the calls of w's task.
func (r *run[S, In, Out]) watched(w *worker[In, Out]) context.Context {
	ctx := r.context(&w.task)
	if w.watch == nil {
		return ctx
	}
	if w.watch.index = w.task.res.Index; w.task.ctx == nil && w.around != nil {
		return w.around // of the task before
	}
	w.watch.ctx = ctx
	return inflight.Watch(ctx, w.watch)
}

// call makes attempts at the task of w for as long as the guard says so.
func (r *run[S, In, Out]) call(w *worker[In, Out], call caller, c throttle.Cost) error {
	held := false
	defer func() {
		if held { // runtime.Goexit, in Exec or in a detector
			w.abandon(nil)
		}
	}()
	for {
		ctx, err := call.Admit(w.around)
		if err != nil {
			return err
		}
		held = true
		w.admitted, w.begun = ctx, false //nolint:fatcontext // of this attempt
		err = r.send(ctx, w, c)
		if w.isLost() { // its attempt was ended by whatever left it behind
			held = false
			return err
		}
		if err == nil && w.lane != nil && w.lane.Done() {
			held = false
			return nil
		}
		f := r.b.verdict(ctx, err)
		if err != nil && !w.begun {
			f.Verdict = adaptive.Unsent
		}
		w.task.unsent = r.resume != nil && err != nil && unprocessed(ctx, &f)
		again, err := call.End(f)
		if held = false; !again {
			return err
		}
	}
}

// unprocessed reports whether the provider did not work on the call: for its
// rate, its load or a used-up quota.
func unprocessed(ctx context.Context, f *adaptive.Feedback) bool {
	v := f.Verdict
	if v == adaptive.Unclassified {
		v = inflight.Of(ctx).Judge(f.Err).Verdict
	}
	switch v {
	case adaptive.Hit, adaptive.Overloaded, adaptive.Terminal:
		return true
	case adaptive.Unclassified, adaptive.OK, adaptive.Transient, adaptive.Unsent:
	}
	return false
}

// send runs an attempt, on the node's pool if it has one.
func (r *run[S, In, Out]) send(ctx context.Context, w *worker[In, Out], c throttle.Cost) error {
	if r.b.pool == nil {
		w.said = r.exec(ctx, w)
		return w.said
	}
	err := r.b.pool.Run(ctx, c, func(ctx context.Context) (err error) {
		defer panics.Catch(&err) // a Pool need not recover panics
		w.said = r.exec(ctx, w)
		return w.said
	})
	if attempt := w.state.Load(); attempt > idle && w.loseIn(attempt) { // the pool has not waited for Exec to return
		r.leaveTo(w, err)
	}
	return err
}

// exec makes one attempt at an item.
func (r *run[S, In, Out]) exec(ctx context.Context, w *worker[In, Out]) (err error) {
	res, bounded := &w.task.res, ctx
	facts := inflight.FactsOf(w.admitted) //nolint:contextcheck // that of the attempt
	res.Attempts, w.begun = facts.Number(), true
	timeout := facts.Timeout()
	if timeout > 0 {
		var cancel context.CancelFunc
		bounded, cancel = withTimeout(ctx, timeout)
		defer cancel()
	}
	if r.resume != nil {
		var end func()
		bounded, end = r.resume.inside(bounded, w.task.entry)
		defer end()
	} else if r.scoped {
		bounded, w.counted = occurrence.Attempt(bounded) // another may follow, and is to meet the same items inside
	}
	bounded, w.traced = r.b.tracedAttempt(bounded, r.attempts, res.Index, res.Attempts)
	w.ctx = bounded
	attempt, ok := w.begin()
	if !ok {
		w.abandon(nil)
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
			return // the end of the attempt has been reported
		case err == nil:
			res.Out = out
		}
		w.told(told)
	}()
	defer panics.Catch(&err)
	if timeout > 0 {
		unwatch := context.AfterFunc(bounded, func() { r.watch(w, attempt) })
		defer unwatch()
	}
	out, err = r.b.exec(bounded, res.Index, res.In)
	returned = true
	if err != nil {
		return ended.Named(bounded, err)
	}
	if r.b.used != nil {
		r.settled(ctx, w, r.b.used(res.In, out))
	}
	return nil
}

// settled reports what the attempt really cost, to the pool's guard as well.
func (r *run[S, In, Out]) settled(ctx context.Context, w *worker[In, Out], used throttle.Cost) {
	guard.Use(w.admitted, used) //nolint:contextcheck // that of the attempt, which ctx is, or is inside of
	if r.b.pool != nil {
		guard.Use(ctx, used)
	}
}
