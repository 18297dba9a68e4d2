package node

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// watcher sends the event.ItemRetry of the calls of one node that are made on
// one goroutine.
type watcher struct {
	node  string
	index int64           // of the item, or NoIndex
	ctx   context.Context //nolint:containedctx // of the call that is made, to send the events under
}

// Retries implements inflight.Watcher.
func (w *watcher) Retries(attempts int, delay time.Duration, err error) {
	o := event.From(w.ctx)
	if o == nil || intake.Ended(w.ctx) != nil {
		return
	}
	e := event.New(time.Now(), event.ItemRetry, w.node)
	e.Index, e.Attempt, e.Wait, e.Err = w.index, attempts, delay, err
	emit.Tell(w.ctx, o, e)
}

// The other methods of inflight.Watcher.

func (w *watcher) Waits()                           {}
func (w *watcher) Queued()                          {}
func (w *watcher) Admitted(throttle.Bound)          {}
func (w *watcher) Judged(adaptive.Feedback, error)  {}
func (w *watcher) Rejected(error)                   {}
func (w *watcher) Rested(context.Context) (on bool) { return true }

// caller makes the attempts of a call: a *guard.Call, or a lane.
type caller interface {
	Admit(ctx context.Context) (context.Context, error)
	End(f adaptive.Feedback) (again bool, err error)
}

// caller is the one for the task of w. A lane is only for calls that are all on
// one guard and under one context, and a pool would keep each of its records.
func (r *run[S, In, Out]) caller(w *worker[In, Out], g *guard.Guard, c throttle.Cost) caller {
	if w.task.ctx != nil || r.b.withinOf != nil || r.b.pool != nil {
		return g.Begin(c)
	}
	if w.lane == nil {
		w.lane = inflight.NewLane(w.around, g)
	}
	w.lane.Begin(c)
	return w.lane
}

// verdict is what an attempt that returned err means, as far as the node knows
// better than the detectors: each item of a batch inside has been judged there,
// and the text of its error, in which the names of nodes appear, means nothing.
func (s *settings) verdict(ctx context.Context, err error) adaptive.Feedback {
	f := adaptive.Feedback{Err: err}
	switch {
	case err == nil:
	case errors.As(err, new(*fault.PanicError)):
		f.Verdict = adaptive.Transient
	case errors.As(err, new(*BatchError)):
		f.Verdict = adaptive.Transient
		if a := inflight.Of(ctx); a != nil && a.Judge(err).Verdict == adaptive.OK {
			f.Final = true // an answer, such as a 400, that another attempt would get again
		}
	}
	return f
}

// tree yields g and the guards that it is within, some perhaps twice.
func tree(g *guard.Guard, yield func(*guard.Guard) bool) bool {
	if g == nil {
		return true
	}
	if !yield(g) {
		return false
	}
	for _, outer := range g.Policy().Within {
		if !tree(outer, yield) {
			return false
		}
	}
	return true
}
