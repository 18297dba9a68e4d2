package node

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/inflight"
)

// patience is how long code is given to return after its context has ended,
// before it is left behind.
const patience = time.Second

// watch gives an attempt time to return after its context has ended, and abandons it if it does not.
func (r *run[S, In, Out]) watch(w *worker[In, Out], attempt int64) {
	time.AfterFunc(patience, func() {
		if w.loseIn(attempt) {
			t := w.task
			t.hung = w.giveUp()
			r.replace(w, &t)
		}
	})
}

// leaveTo ends the attempt of w, which is lost, with err of the pool that it was made on, and has another worker conclude its task.
func (r *run[S, In, Out]) leaveTo(w *worker[In, Out], err error) {
	if err == nil {
		err = errAbandoned
	}
	var failure error
	if hung, ok := errors.AsType[*fault.HungError](err); ok {
		failure = hung
	}
	w.abandon(failure)
	w.told(err)
	t := w.task
	t.hung = err
	r.replace(w, &t)
}

// await waits until the workers, which are lost, have handed on the outcomes of their tasks, but not for ever: an observer may hang.
func await[In, Out any](workers []*worker[In, Out]) {
	patience := time.NewTimer(patience)
	defer patience.Stop()
	for _, w := range workers {
		select {
		case <-w.gone:
		case <-patience.C:
			return
		}
	}
}

// giveUp returns what the attempt of w, which is lost, holds, and returns the
// error that it is left with.
func (w *worker[In, Out]) giveUp() error {
	hung := &fault.HungError{After: patience, Cause: context.Cause(w.ctx)}
	var failure error // it was the run that did not wait
	if errors.Is(w.ctx.Err(), context.DeadlineExceeded) {
		failure = hung
	}
	attempt := inflight.Of(w.admitted)
	attempt.Abandon(failure)
	if inner := inflight.Of(w.ctx); inner != nil && inner != attempt { // of a pool
		inner.Abandon(failure)
	}
	w.told(hung)
	return hung
}
