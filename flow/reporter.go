package flow

import (
	"context"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/node"
)

// reporter sends the events of one run of a flow or a fork.
type reporter struct {
	to    event.Observer // may be nil
	name  string
	index int64 // of the instance around the run
	began time.Time
	end   func(event.Event) // of the run's trace
}

// started reports that a run of that name began. The run goes on under the context that is returned, and calls finished at
// its end.
func started(ctx context.Context, name string) (inner context.Context, r reporter) {
	r = reporter{to: event.From(ctx), name: name, index: frameOf(ctx).index}
	r.began = emit.Now(r.to)
	e := event.New(r.began, event.FlowStarted, name)
	e.Index = r.index
	emit.Send(r.to, e)
	inner, r.end = emit.Trace(ctx, e)
	return inner, r
}

func (r *reporter) finished(action node.Action, err error) {
	e := event.New(emit.Now(r.to), event.FlowFinished, r.name)
	e.Index, e.Wait, e.Reason, e.Err = r.index, e.Time.Sub(r.began), string(action), err
	r.end(e)
	emit.Send(r.to, e)
}

// runStep runs n, which is that step of the run, and reports what came of it.
func runStep[S any](ctx context.Context, r *reporter, n node.Node[S], s S, step int) (node.Action, error) {
	began := emit.Now(r.to)
	action, err := runNode(ctx, n, s)
	if r.to != nil {
		e := event.New(emit.Now(r.to), event.FlowStep, r.name)
		e.Index, e.Key, e.Attempt, e.Wait, e.Reason, e.Err = r.index, n.Name(), step, e.Time.Sub(began), string(action), err
		emit.Tell(ctx, r.to, e)
	}
	return action, err
}
