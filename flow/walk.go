package flow

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/node"
)

// Run implements node.Node: it runs one node after the other until one has no successor, and returns
// that node's action. A failed node, or the end of ctx before a node begins, is a *StepError.
func (f *Flow[S]) Run(ctx context.Context, s S) (node.Action, error) {
	around := frameOf(ctx)
	return f.runIn(&frame{ctx, around.index, around.depth + 1}, s) //nolint:contextcheck // the frame is ctx
}

// runIn is Run under a frame of its own.
func (f *Flow[S]) runIn(in *frame, s S) (action node.Action, err error) {
	if err := f.setup.Use(f.checkForRun); err != nil {
		return node.Next, err
	}
	if in.depth > maxNesting {
		return node.Next, &nestingError{flow: f.name, depth: in.depth}
	}
	ctx, r := started(in, f.name)
	err = errGoexit // unless it returns
	defer func() { r.finished(action, err) }()
	action, err = f.walk(ctx, &r, s)
	return action, err
}

// errGoexit is of a flow in which a node has ended the goroutine.
var errGoexit = errors.New("flow: a node has called runtime.Goexit")

func (f *Flow[S]) walk(ctx context.Context, r *reporter, s S) (node.Action, error) {
	n := f.first
	for step := 1; ; step++ {
		if step > f.maxSteps {
			return node.Next, &StepsError{Flow: f.name, Max: f.maxSteps, Node: n.Name()}
		}
		if err := stopped(ctx); err != nil {
			return node.Next, &StepError{Flow: f.name, Node: n.Name(), Step: step, Err: err}
		}
		action, err := runStep(ctx, r, n, s, step)
		if err != nil {
			return node.Next, &StepError{Flow: f.name, Node: n.Name(), Step: step, Err: err}
		}
		next, err := f.follow(n, action)
		if next == nil || err != nil {
			return action, err
		}
		n = next
	}
}

// runNode runs one node. A node of the user's own may panic.
func runNode[S any](ctx context.Context, n node.Node[S], s S) (action node.Action, err error) {
	defer panics.Catch(&err)
	if _, tells := any(n).(transparent); !tells {
		return runOwn(ctx, n, s)
	}
	return n.Run(ctx, s)
}

// runOwn runs a flow, or a node of the user's own, which does not report itself to tracers.
func runOwn[S any](ctx context.Context, n node.Node[S], s S) (action node.Action, err error) {
	to := emit.TracersOf(event.From(ctx), event.NodeStarted)
	if _, isFlow := containerOf(n); to == nil || isFlow {
		return n.Run(ctx, s)
	}
	name, began := n.Name(), time.Now()
	e := event.New(began, event.NodeStarted, name)
	ctx, end := to.Begin(ctx, e)
	err = errGoexit // unless it returns or panics
	defer func() {
		e := event.New(time.Now(), event.NodeFinished, name)
		e.Wait, e.Err = e.Time.Sub(began), err
		end(e)
	}()
	defer panics.Catch(&err)
	return n.Run(ctx, s)
}

// follow returns n's successor, nil at the end of the flow.
func (f *Flow[S]) follow(n node.Node[S], a node.Action) (node.Node[S], error) {
	out := f.out[n]
	for _, e := range out {
		if e.action == a {
			return e.to, nil
		}
	}
	if len(out) > 0 {
		return nil, &ActionError{Flow: f.name, Node: n.Name(), Action: a, known: f.actions(n)}
	}
	return nil, nil
}
