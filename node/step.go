package node

import (
	"context"
	"sync/atomic"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/occurrence"
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

// WithFallback replaces the outcome when all attempts have failed with err. It is not called once ctx,
// or the run of the batch around it, is being stopped.
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
	ctx, finished := n.started(ctx)
	err = errGoexit // unless it returns
	defer func() { finished(err) }()
	action, err = n.run(ctx, g, s)
	return action, err
}

func (n *Step[S]) run(ctx context.Context, g *guard.Guard, s S) (action Action, err error) {
	defer panics.Catch(&err)
	var c throttle.Cost
	if n.cost != nil {
		c = n.cost(s)
	}
	watched := ctx
	if event.From(ctx) != nil {
		watched = inflight.Watch(ctx, &watcher{node: n.name, index: event.NoIndex, ctx: ctx})
	}
	var last atomic.Pointer[outcome] // a function that was abandoned may return at any time
	err = g.Do(watched, c, func(ctx context.Context) error {
		if n.pool == nil {
			return n.attempt(ctx, ctx, s, &last)
		}
		begun := false
		err := n.pool.Run(ctx, c, func(pooled context.Context) (err error) {
			defer panics.Catch(&err) // a Pool need not recover panics
			begun = true
			return n.attempt(pooled, ctx, s, &last)
		})
		if err != nil && !begun {
			guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
		}
		return err
	})
	of := last.Load()
	if of != nil {
		action = of.action
		of.counted.Keep()
	}
	if err != nil && n.fallback != nil && ended(ctx) == nil && !tooLate(ctx, err) {
		return n.fallback(ctx, s, err)
	}
	return action, err
}

// outcome is the outcome of the last attempt at a step.
type outcome struct {
	action  Action
	counted *occurrence.Book // of entries in nested journals
}

// attempt calls the function once. admitted is the context that the step's own
// guard gave, which ctx is, or is inside of.
func (n *Step[S]) attempt(ctx, admitted context.Context, s S, to *atomic.Pointer[outcome]) (err error) {
	of := &outcome{}
	ctx, of.counted = occurrence.Attempt(ctx) // another may follow, and is to meet the same items inside
	traced := emit.TracersOf(event.From(ctx), event.AttemptStarted)
	ctx, ended := n.tracedAttempt(ctx, traced, event.NoIndex, inflight.FactsOf(admitted).Number())
	err = errGoexit // unless it returns
	defer func() {
		if ended != nil {
			ended(err)
		}
		to.Store(of)
	}()
	of.action, err = n.call(ctx, s)
	if f := n.verdict(admitted, err); f.Verdict != adaptive.Unclassified {
		guard.Report(admitted, f)
	}
	return err
}

func (n *Step[S]) call(ctx context.Context, s S) (action Action, err error) {
	defer panics.Catch(&err)
	return n.f(ctx, s)
}
