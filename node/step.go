package node

import (
	"context"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// Step is a plain node: one function over the shared state. Chain its settings after Do or Decide. It
// is safe for concurrent runs if its function is.
type Step[S any] struct {
	settings

	f        func(context.Context, S) (Action, error)
	fallback func(context.Context, S, error) (Action, error)
	cost     func(S) throttle.Cost
}

// Decide returns a step that follows the edge for the action that f returns.
func Decide[S any](name string, f func(ctx context.Context, s S) (Action, error)) *Step[S] {
	n := &Step[S]{f: f}
	n.init(name)
	if f == nil {
		n.setup.Addf("f", "the function is nil")
	}
	return n
}

// Do returns a step that runs f and follows the default edge.
func Do[S any](name string, f func(ctx context.Context, s S) error) *Step[S] {
	if f == nil {
		return Decide[S](name, nil)
	}
	return Decide(name, func(ctx context.Context, s S) (Action, error) { return Next, f(ctx, s) })
}

// Name returns the step's name.
func (n *Step[S]) Name() string { return n.name }

// With sets the whole policy of the step's calls, such as limits and a timeout. See Batch.With.
func (n *Step[S]) With(p guard.Policy) *Step[S] { n.with(p); return n }

// Within makes the step's calls pass the guards as well, which other nodes may share.
func (n *Step[S]) Within(guards ...*guard.Guard) *Step[S] { n.within(guards); return n }

// WithRetry retries failed attempts by p. See Batch.WithRetry.
func (n *Step[S]) WithRetry(p retry.Policy) *Step[S] { n.withRetry(p); return n }

// WithFallback replaces the outcome when all attempts have failed with err. It is not called if the store of the
// limits fails, or once ctx, or the run of the batch around it, is being stopped.
func (n *Step[S]) WithFallback(f func(ctx context.Context, s S, err error) (Action, error)) *Step[S] {
	n.setFunc("WithFallback", f == nil, func() { n.fallback = f })
	return n
}

// WithCost sets what is reserved for the call. The default is one request.
func (n *Step[S]) WithCost(f func(s S) throttle.Cost) *Step[S] {
	n.setFunc("WithCost", f == nil, func() { n.cost = f })
	return n
}

// Validate joins all problems of the settings, each a *fault.FieldError.
func (n *Step[S]) Validate() error {
	return n.validate(n.cost != nil, func(*invalid.Problems) {})
}

// Run implements Node. If the function panics the error is a *fault.PanicError.
func (n *Step[S]) Run(ctx context.Context, s S) (action Action, err error) {
	if err := n.setup.Use(n.Validate); err != nil {
		return Next, err
	}
	g, err := n.guard()
	if err != nil {
		return Next, err
	}
	if ctx.Err() != nil {
		return Next, context.Cause(ctx)
	}
	ctx, of := n.started(ctx)
	err = errGoexit // unless it returns
	defer func() { of.finished(err) }()
	action, err = n.run(ctx, g, s)
	return action, err
}

func (n *Step[S]) run(ctx context.Context, g *guard.Guard, s S) (action Action, err error) {
	defer panics.Catch(&err)
	c := n.callOn(s)
	c.Context = ctx
	if event.From(ctx) != nil {
		c.watch = watcher{node: n.name, index: event.NoIndex, ctx: ctx}
	}
	err = g.Do(c, c.cost, c.send) //nolint:contextcheck // c is ctx
	if of := c.last.Load(); of != nil {
		action = of.action
		of.counted.Keep()
	}
	if err != nil && n.fallback != nil && intake.Ended(ctx) == nil && !tooLate(ctx, err) && !unadmitted(err) {
		return n.fallback(ctx, s, err)
	}
	return action, err
}
