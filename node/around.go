package node

import (
	"context"

	"github.com/headrace/headrace/internal/intake"

	"github.com/headrace/headrace/internal/fork"
)

// around returns the context that ends the intake of a run under ctx, and whether the run is nested in an item of another one,
// which then ends it. A run directly in a fork is not nested: it has its own grace period, and stops when ctx ends or the fork
// fails. release undoes this.
func around(ctx context.Context) (outer context.Context, nested bool, release func() bool) {
	outer, nested = intake.Of(ctx)
	in, forked := outer.(*fork.Intake)
	if !forked || !in.Outermost {
		return outer, nested, func() bool { return true }
	}
	outer, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(in, func() { cancel(context.Cause(in)) })
	return outer, false, func() bool {
		cancel(context.Canceled)
		return stop()
	}
}
