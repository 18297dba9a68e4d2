package node

import (
	"context"
	"sync/atomic"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/throttle"
)

// stepCall is the guarded call of one run of a step, and the context that it is made under.
type stepCall[S any] struct {
	context.Context //nolint:containedctx // it is a context

	step  *Step[S]
	state S
	cost  throttle.Cost
	watch watcher // its ctx is nil if there is no observer

	last  atomic.Pointer[outcome] // a function that was abandoned may return at any time
	begun atomic.Bool             // first is in use
	first outcome
}

// outcome is the outcome of an attempt at a step.
type outcome struct {
	action  Action
	counted *occurrence.Book // of entries in nested journals
}

func (n *Step[S]) callOn(s S) *stepCall[S] {
	c := &stepCall[S]{step: n, state: s}
	if n.cost != nil {
		c.cost = n.cost(s)
	}
	return c
}

// Value has the watcher watch the call, as inflight.Watch does.
func (c *stepCall[S]) Value(key any) any {
	if c.watch.ctx != nil && inflight.Private(key) {
		return &c.watch
	}
	return c.Context.Value(key)
}

// send makes an attempt under admitted, on the pool of the step if it has one.
func (c *stepCall[S]) send(admitted context.Context) error {
	if c.step.pool == nil {
		return c.attempt(admitted, admitted)
	}
	begun := false
	err := c.step.pool.Run(admitted, c.cost, func(pooled context.Context) (err error) {
		defer panics.Catch(&err) // a Pool need not recover panics
		begun = true
		return c.attempt(pooled, admitted)
	})
	if err != nil && !begun {
		guard.Report(admitted, adaptive.Feedback{Verdict: adaptive.Unsent})
	}
	return err
}

// attempt runs the function of the step. ctx is admitted, or inside of it.
func (c *stepCall[S]) attempt(ctx, admitted context.Context) (err error) {
	of := &c.first
	if c.begun.Swap(true) {
		of = &outcome{}
	}
	n := c.step
	ctx, of.counted = occurrence.Attempt(ctx) // another may follow, and is to meet the same items inside
	traced := emit.TracersOf(event.From(ctx), event.AttemptStarted)
	ctx, ended := n.tracedAttempt(ctx, traced, event.NoIndex, inflight.FactsOf(admitted).Number())
	err = errGoexit // unless it returns
	defer func() {
		if ended != nil {
			ended(err)
		}
		c.last.Store(of)
	}()
	of.action, err = n.call(ctx, c.state)
	if f := n.verdict(admitted, err); f.Verdict != adaptive.Unclassified {
		guard.Report(admitted, f)
	}
	return err
}

func (n *Step[S]) call(ctx context.Context, s S) (action Action, err error) {
	defer panics.Catch(&err)
	return n.f(ctx, s)
}
