package node

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
)

// patience is how long code is given to return after its context has ended,
// before it is left behind.
const patience = time.Second

// watch gives an attempt whose context has ended a while to return, and
// leaves it behind if it does not.
func (r *run[S, In, Out]) watch(w *worker[In, Out], attempt int64) {
	time.AfterFunc(patience, func() {
		if w.loseIn(attempt) {
			t := w.task
			t.hung = w.giveUp()
			r.replace(w, &t)
		}
	})
}

// giveUp gives back what the attempt of w, which is lost, holds, and returns
// the error that it left behind.
func (w *worker[In, Out]) giveUp() error {
	if w.admitted {
		adaptive.Abandon(w.ctx)
	}
	hung := &fault.HungError{After: patience, Cause: context.Cause(w.ctx)}
	if errors.Is(w.ctx.Err(), context.DeadlineExceeded) {
		w.ticket.Failure(hung)
	} else {
		w.ticket.Cancel() // it was the run that did not wait
	}
	w.told(hung)
	return hung
}
