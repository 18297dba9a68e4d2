package flow

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/node"
)

// Run implements node.Node: it goes through the graph on s until a node has
// no successor, and returns that node's action. A node's error ends the run
// as a *StepError; so does the end of ctx, before the next node begins.
func (f *Flow[S]) Run(ctx context.Context, s S) (node.Action, error) {
	if err := f.setup.Use(f.Validate); err != nil {
		return node.Next, err
	}
	ctx, err := f.nest(ctx)
	if err != nil {
		return node.Next, err
	}
	o, began := event.From(ctx), time.Now()
	event.Send(o, event.New(began, event.FlowStarted, f.name))
	action, err := f.walk(ctx, s, o)
	e := event.New(time.Now(), event.FlowFinished, f.name)
	e.Wait, e.Reason, e.Err = e.Time.Sub(began), string(action), err
	event.Send(o, e)
	return action, err
}

func (f *Flow[S]) walk(ctx context.Context, s S, o event.Observer) (node.Action, error) {
	n := f.first
	for step := 1; ; step++ {
		if step > f.maxSteps {
			return node.Next, &StepsError{Flow: f.name, Max: f.maxSteps, Node: n.Name()}
		}
		if ctx.Err() != nil {
			return node.Next, &StepError{Flow: f.name, Node: n.Name(), Step: step, Err: context.Cause(ctx)}
		}
		began := time.Now()
		action, err := runNode(ctx, n, s)
		if o != nil {
			e := event.New(time.Now(), event.FlowStep, f.name)
			e.Key, e.Attempt, e.Wait, e.Reason, e.Err = n.Name(), step, e.Time.Sub(began), string(action), err
			event.Send(o, e)
		}
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
	defer func() {
		if p := recover(); p != nil {
			err = &node.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return n.Run(ctx, s)
}

// follow returns n's successor, nil at the end of the flow.
func (f *Flow[S]) follow(n node.Node[S], a node.Action) (node.Node[S], error) {
	known := false
	for _, e := range f.edges {
		if e.from != n {
			continue
		}
		if e.action == a {
			return e.to, nil
		}
		known = true
	}
	if known {
		return nil, &ActionError{Flow: f.name, Node: n.Name(), Action: a, Known: f.actions(n)}
	}
	return nil, nil
}

// maxNesting is how deep flows may run inside flows before it is taken for a mistake.
const maxNesting = 1000

type nestingKey struct{}

// nest counts how deep the flow runs inside others.
func (f *Flow[S]) nest(ctx context.Context) (context.Context, error) {
	depth, _ := ctx.Value(nestingKey{}).(int)
	if depth++; depth > maxNesting {
		return ctx, &NestingError{Flow: f.name, Depth: depth}
	}
	return context.WithValue(ctx, nestingKey{}, depth), nil
}
