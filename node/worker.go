package node

import (
	"context"
	"sync/atomic"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/internal/occurrence"
)

// worker is one goroutine of a run, as it is seen by those who may have to go
// on without it. It is alone with its fields, except that whoever leaves it
// behind in an attempt may read them: it changes none from there on. What a
// lost worker still does changes nothing.
type worker[In, Out any] struct {
	state     atomic.Int64 // idle, lost, or the number of the attempt that it is in
	attempts  int64        // so far
	attempter attempter    // of its own for as long as it works
	busy      bool         // it has a task
	task      task[In, Out]
	ctx       context.Context  //nolint:containedctx // of the attempt, for whoever has to give up on it
	around    context.Context  //nolint:containedctx // of the item, for as long as that
	admitted  bool             // by the node's limiter, which has to hear of the attempt's end
	ticket    breaker.Ticket   // of the attempt
	said      error            // by Exec, at the end of the last attempt
	counted   *occurrence.Book // by the last attempt, of what is in journals inside; nil: there is no scope
	traced    func(err error)  // tells of the attempt's end; nil: nobody traces it
}

// told tells of the end of the attempt, whoever it is that knows of it.
func (w *worker[In, Out]) told(err error) {
	if w.traced != nil {
		w.traced(err)
	}
}

const (
	idle int64 = -iota
	lost
)

// begin returns the number of a new attempt; false if w is lost.
func (w *worker[In, Out]) begin() (attempt int64, ok bool) {
	w.attempts++
	return w.attempts, w.state.CompareAndSwap(idle, w.attempts)
}

// end reports whether the attempt was still the worker's own.
func (w *worker[In, Out]) end(attempt int64) bool { return w.state.CompareAndSwap(attempt, idle) }

// lose leaves w behind, whatever it does, and returns the state that it was in.
func (w *worker[In, Out]) lose() (state int64) { return w.state.Swap(lost) }

// loseIn leaves w behind if it still makes that attempt.
func (w *worker[In, Out]) loseIn(attempt int64) bool { return w.state.CompareAndSwap(attempt, lost) }

func (w *worker[In, Out]) isLost() bool { return w.state.Load() == lost }

// hireLocked starts a worker, with first as its first task unless that is nil.
func (r *run[S, In, Out]) hireLocked(first *task[In, Out]) {
	w := &worker[In, Out]{}
	w.attempter.f = func(ctx context.Context, n int, t breaker.Ticket) error {
		w.task.res.Attempts = n
		w.said = r.exec(ctx, w, t)
		return w.said
	}
	if first != nil {
		w.busy, w.task = true, *first
	}
	r.workers[w] = struct{}{}
	go r.work(w)
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
	switch {
	case len(r.workers) > 0:
	case r.commit != nil:
		r.commit.finish(true)
	default:
		r.end()
	}
}

func (r *run[S, In, Out]) work(w *worker[In, Out]) {
	returned := false
	defer func() {
		switch {
		case w.lose() == lost: // another has the place
		case w.busy: // runtime.Goexit in user code: another takes the place
			r.finish(&w.task, errGoexit)
			r.replace(w, nil)
		default:
			if !returned { // runtime.Goexit in the input, or in WithKey, which leaves an item to nobody
				r.missed(errGoexit)
				r.stop(errGoexit)
			}
			r.leave(w)
		}
	}()
	for (w.busy || r.next(w)) && r.handle(w) {
	}
	returned = true
}
