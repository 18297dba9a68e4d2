package flow

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/emit"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/node"
)

// reporter sends the events of one run of a flow or a fork.
type reporter struct {
	to    event.Observer // may be nil
	name  string
	index int64 // of the instance around the run
}

// started reports that a run of that name began. The run goes on under the context
// that is returned, and calls finished at its end.
func started(ctx context.Context, name string) (inner context.Context, r *reporter, finished func(node.Action, error)) {
	r = &reporter{event.From(ctx), name, indexOf(ctx)}
	e := event.New(time.Now(), event.FlowStarted, name)
	e.Index = r.index
	emit.Send(r.to, e)
	inner, end := emit.Trace(ctx, e)
	return inner, r, func(action node.Action, err error) {
		last := event.New(time.Now(), event.FlowFinished, name)
		last.Index, last.Wait, last.Reason, last.Err = r.index, last.Time.Sub(e.Time), string(action), err
		end(last)
		emit.Send(r.to, last)
	}
}

// runStep runs n, which is that step of the run, and reports what came of it.
func runStep[S any](ctx context.Context, r *reporter, n node.Node[S], s S, step int) (node.Action, error) {
	began := time.Now()
	action, err := runNode(ctx, n, s)
	if r.to != nil {
		e := event.New(time.Now(), event.FlowStep, r.name)
		e.Index, e.Key, e.Attempt, e.Wait, e.Reason, e.Err = r.index, n.Name(), step, e.Time.Sub(began), string(action), err
		emit.Tell(ctx, r.to, e)
	}
	return action, err
}
