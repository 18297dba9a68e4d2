package node

import (
	"context"
	"sync"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// worker is one goroutine of a run, as it is seen by those who may have to go
// on without it. What a lost worker still does changes nothing.
type worker[In, Out any] struct {
	mu      sync.Mutex // guards everything below
	lost    bool
	count   int64            // attempts so far
	current attempt[In, Out] // zero between attempts
}

// attempt is one call of Exec.
type attempt[In, Out any] struct {
	number   int64           // of the worker's
	ctx      context.Context //nolint:containedctx // of the call, for whoever has to give up on it
	admitted bool            // by the node's limiter, which has to hear of the end
	task     task[In, Out]
}

// task is one item that a worker has to deal with.
type task[In, Out any] struct {
	res   Result[In, Out]
	began time.Time // zero if there is no observer
	err   error     // the input failed to produce the item
	hung  error     // another worker was left behind with it
}

func (w *worker[In, Out]) begin(a attempt[In, Out]) (number int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	w.current = a
	w.current.number = w.count
	return w.count
}

// end reports whether the attempt was still the worker's own.
func (w *worker[In, Out]) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = attempt[In, Out]{}
	return !w.lost
}

// lose leaves the worker behind, unless somebody has before.
func (w *worker[In, Out]) lose() (a attempt[In, Out], lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lost = !w.lost
	w.lost = true
	return w.current, lost
}

// loseIn is lose if the worker still makes the attempt of that number.
func (w *worker[In, Out]) loseIn(number int64) (a attempt[In, Out], lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost || w.current.number != number {
		return a, false
	}
	w.lost = true
	return w.current, true
}

func (w *worker[In, Out]) isLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// hireLocked starts a worker, with first as its first task unless that is nil.
func (r *run[S, In, Out]) hireLocked(first *task[In, Out]) {
	w := &worker[In, Out]{}
	r.workers[w] = struct{}{}
	go r.work(w, first)
}

// replace has another worker go on in the place of w, which is lost.
func (r *run[S, In, Out]) replace(w *worker[In, Out], first *task[In, Out]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.workers, w)
	r.hireLocked(first)
}

// leave takes w out of the run. The last one to leave ends it.
func (r *run[S, In, Out]) leave(w *worker[In, Out]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.workers, w)
	if len(r.workers) == 0 {
		r.end()
	}
}

func (r *run[S, In, Out]) work(w *worker[In, Out], first *task[In, Out]) {
	returned := false
	defer func() {
		if _, mine := w.lose(); !mine {
			return // another has the place
		}
		if !returned { // runtime.Goexit in the input
			r.stop(errGoexit)
		}
		r.leave(w)
	}()
	if first == nil || r.handle(w, *first) {
		for r.next(w) {
		}
	}
	returned = true
}

// next works on the next item; false when the worker has to end.
func (r *run[S, In, Out]) next(w *worker[In, Out]) bool {
	it, ok := r.take()
	if !ok {
		return false
	}
	return r.handle(w, task[In, Out]{
		res: Result[In, Out]{Index: it.index, In: it.in}, began: r.stamp(), err: it.err,
	})
}

// handle sees to it that t gets a result; false when the worker has to end.
func (r *run[S, In, Out]) handle(w *worker[In, Out], t task[In, Out]) bool {
	returned := false
	defer func() {
		if returned {
			return
		}
		if _, mine := w.lose(); mine { // runtime.Goexit in user code: another takes the place
			r.conclude(&t.res, errGoexit)
			r.finish(t)
			r.replace(w, nil)
		}
	}()
	r.do(w, &t)
	returned = true
	if w.isLost() {
		return false
	}
	r.finish(t)
	return true
}

// do fills in what becomes of t. A panic of the user's code is the item's error.
func (r *run[S, In, Out]) do(w *worker[In, Out], t *task[In, Out]) {
	err := t.err
	defer func() { r.conclude(&t.res, err) }()
	defer caught(&err)
	if err != nil {
		return
	}
	if err = t.hung; err == nil {
		err = r.try(w, t)
	}
	if b := r.b; err != nil && b.fallback != nil && r.intake.Err() == nil && !w.isLost() {
		t.res.Out, err = b.fallback(r.ctx, t.res.In, err)
	}
}

func (r *run[S, In, Out]) try(w *worker[In, Out], t *task[In, Out]) error {
	var cost throttle.Cost
	if r.b.key != nil {
		t.res.Key = r.b.key(t.res.In)
	}
	if r.b.cost != nil {
		cost = r.b.cost(t.res.In)
	}
	if stopped := ended(r.ctx); stopped != nil {
		return stopped
	}
	return r.b.attempts(r.ctx, t.res.Index, cost, func(ctx context.Context, n int) error {
		t.res.Attempts = n
		return r.exec(ctx, w, t)
	})
}

// exec makes one attempt at an item.
func (r *run[S, In, Out]) exec(ctx context.Context, w *worker[In, Out], t *task[In, Out]) (err error) {
	admitted := ctx != r.ctx // a limiter's call has a context of its own; else ctx may lie in a call further out
	bounded := ctx
	if r.b.timeout > 0 {
		var cancel context.CancelFunc
		bounded, cancel = r.b.withTimeout(ctx)
		defer cancel()
	}
	number := w.begin(attempt[In, Out]{ctx: bounded, admitted: admitted, task: *t})
	var out Out
	defer func() {
		switch {
		case !w.end():
			err = errAbandoned
		case err == nil:
			t.res.Out = out
		}
	}()
	defer caught(&err)
	if r.b.timeout > 0 {
		unwatch := context.AfterFunc(bounded, func() { r.watch(w, number) })
		defer unwatch()
	}
	out, err = r.b.handler.Exec(bounded, t.res.In)
	err = namedTimeout(bounded, err)
	if err == nil && r.b.used != nil && admitted {
		adaptive.Use(ctx, r.b.used(t.res.In, out))
	}
	return err
}

// watch gives an attempt whose context has ended a while to return, and
// leaves it behind if it does not.
func (r *run[S, In, Out]) watch(w *worker[In, Out], number int64) {
	time.AfterFunc(patience, func() {
		a, lost := w.loseIn(number)
		if !lost {
			return
		}
		t := a.task
		t.hung = a.giveUp()
		r.replace(w, &t)
	})
}

// giveUp gives back what the attempt holds and returns the error that it left behind.
func (a *attempt[In, Out]) giveUp() error {
	if a.admitted {
		adaptive.Abandon(a.ctx)
	}
	return &HungError{After: patience, Cause: context.Cause(a.ctx)}
}
