package flow

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/headrace/headrace/internal/intake"

	"github.com/headrace/headrace/internal/fork"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/node"
)

// Run implements node.Node.
func (f *forked[S]) Run(ctx context.Context, s S) (action node.Action, err error) {
	if err := f.setup.Use(f.checkForRun); err != nil {
		return node.Next, err
	}
	if ctx.Err() != nil {
		return node.Next, context.Cause(ctx)
	}
	ctx, r := started(ctx, f.name)
	defer func() { r.finished(action, err) }()
	return node.Next, f.run(ctx, &r, s)
}

func (f *forked[S]) run(ctx context.Context, r *reporter, s S) error { //nolint:contextcheck // the contexts of the fork inherit from ctx
	around, nested := intake.Of(ctx)
	side := fork.New(ctx, around, nested)
	defer side.End()
	inner := intake.With(side.Context, side.Intake)

	var (
		wg     sync.WaitGroup
		mu     sync.Mutex // guards first
		first  = -1       // the node that failed first
		errs   = make([]error, len(f.nodes))
		failed = func(i int, err error) {
			mu.Lock()
			defer mu.Unlock()
			if errs[i] = err; err == nil || first >= 0 {
				return
			}
			first = i
			if ctx.Err() == nil { // else all of them are ended by that
				side.Stop(&fork.StoppedError{Fork: f.name, Node: f.nodes[i].Name()})
			}
		}
	)
	for i := range f.nodes {
		wg.Go(func() {
			err := error(&StepError{Flow: f.name, Node: f.nodes[i].Name(), Step: i + 1, Err: errGoexit}) // unless it returns
			defer func() { failed(i, err) }()
			err = f.branch(inner, r, s, i)
		})
	}
	wg.Wait()
	for i, err := range errs {
		if i != first && cutShort(err, side.Killed()) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

// branch runs one of the nodes.
func (f *forked[S]) branch(ctx context.Context, r *reporter, s S, i int) error {
	n := f.nodes[i]
	if err := stopped(ctx); err != nil {
		return err
	}
	if handlerOf(n) == nil {
		ctx = occurrence.Branch(ctx, n.Name())
	}
	action, err := runStep(ctx, r, n, s, i+1)
	switch {
	case err != nil:
		return &StepError{Flow: f.name, Node: n.Name(), Step: i + 1, Err: err}
	case action != node.Next:
		return &ActionError{Flow: f.name, Node: n.Name(), Action: action, known: []node.Action{node.Next}, joins: true}
	}
	return nil
}

// stopped returns why no further node begins under ctx, or nil: ctx has ended, or
// it is that of a node of a fork in which another node has failed.
func stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	around, _ := intake.Of(ctx)
	if in, ok := around.(*fork.Intake); ok {
		return in.Stopped() //nolint:contextcheck // it is of ctx
	}
	return nil
}

// cutShort reports whether err says only that a node was stopped because another
// one had failed. killed is set if its context was ended as well.
func cutShort(err error, killed bool) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	switch e := err.(type) {         //nolint:errorlint // this is the walk through the tree
	case nil:
		return false
	case *fork.StoppedError:
		return true
	case interface{ Unwrap() error }:
		return cutShort(e.Unwrap(), killed)
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		return len(all) > 0 && !slices.ContainsFunc(all, func(err error) bool { return !cutShort(err, killed) })
	default:
		return killed && errors.Is(err, context.Canceled)
	}
}
