package node

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/occurrence"
)

// worker is one goroutine of a run, as it is seen by code that may have to go on
// without it. It is alone with its fields, except that whatever leaves it behind
// in an attempt may read them: it changes none from there on. What a lost worker
// still does changes nothing.
type worker[In, Out any] struct {
	state    atomic.Int64  // idle, lost, settling, or the number of the attempt that it is in
	gone     chan struct{} // closed when its goroutine ends
	attempts int64         // so far
	item     item[In]      // that the task is for
	busy     bool          // it has a task
	task     task[In, Out]
	lane     inflight.Lane    // of its calls, if they are all on one guard under one context; nil if there are none yet
	watch    *watcher         // nil: no observer, or no retries
	around   context.Context  //nolint:containedctx // of the task's call, for as long as that
	ctx      context.Context  //nolint:containedctx // of the attempt, to know why it has ended
	admitted context.Context  //nolint:containedctx // of the attempt, as the guard gave it
	said     error            // by Exec, at the end of the last attempt
	begun    bool             // Exec was called in the attempt
	counted  *occurrence.Book // by the last attempt, of entries in nested journals; nil without a scope
	traced   func(err error)  // receives the attempt's end; nil: it is not traced
}

// abandon returns what the attempt holds.
func (w *worker[In, Out]) abandon(hung error) { inflight.Of(w.admitted).Abandon(hung) }

// told reports the end of the attempt.
func (w *worker[In, Out]) told(err error) {
	if w.traced != nil {
		w.traced(err)
	}
}

const (
	idle int64 = -iota
	lost
	settling // its task has ended, and the outcome is being handed on
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

// settles reports whether w may hand on the outcome of its task. A run that leaves w behind waits until it has.
func (w *worker[In, Out]) settles() bool { return w.state.CompareAndSwap(idle, settling) }

// settled is for when it has; false if w is lost.
func (w *worker[In, Out]) settled() bool { return w.state.CompareAndSwap(settling, idle) }

func (w *worker[In, Out]) isLost() bool { return w.state.Load() == lost }

// hireLocked starts a worker, with first as its first task unless that is nil.
func (r *run[S, In, Out]) hireLocked(first *task[In, Out]) {
	w := &worker[In, Out]{gone: make(chan struct{})}
	if r.retries {
		w.watch = &watcher{node: r.b.name}
	}
	if first != nil {
		w.busy, w.task = true, *first
	}
	r.workers[w] = struct{}{}
	go r.work(w)
}

// hireNext starts another worker with each item that is taken, until all are there: a few items need only a few.
func (r *run[S, In, Out]) hireNext() {
	if r.hires.Load() <= 0 || r.hires.Add(-1) < 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.hireLocked(nil)
	}
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
	r.emptyLocked()
}

// reading has the run wait for a goroutine that reads its input.
func (r *run[S, In, Out]) reading() { r.reads = true }

// read takes that goroutine out of the run.
func (r *run[S, In, Out]) read() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = false
	r.emptyLocked()
}

// emptyLocked ends the run when nothing is left of it.
func (r *run[S, In, Out]) emptyLocked() {
	switch {
	case len(r.workers) > 0 || r.closed:
	case r.reads:
		if r.intake.Err() != nil { // no item needs the grace period, and the input may not return
			r.undo = append(r.undo, time.AfterFunc(patience, r.end).Stop)
		}
	case r.commit != nil:
		r.commit.finish(true)
	default:
		r.end()
	}
}

func (r *run[S, In, Out]) work(w *worker[In, Out]) {
	returned := false
	defer close(w.gone)
	defer func() {
		switch {
		case w.busy && w.settles(): // runtime.Goexit in user code: another takes the place
			defer func() { // also if an observer does the same
				r.finished()
				if w.settled() {
					r.replace(w, nil)
				}
			}()
			r.finish(&w.task, errGoexit)
		case w.lose() == lost: // another has the place
		default:
			if !returned { // runtime.Goexit in the input or in WithKey: the item has no worker
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
