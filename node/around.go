package node

import (
	"context"

	"github.com/headrace/headrace/internal/intake"

	"github.com/headrace/headrace/internal/fork"
)

// around returns the context whose end stops the intake of a run under ctx, and
// whether the run is nested in an item of another one, which then ends it.
// Directly in a fork that is not the case: the run has a grace period of its own,
// and is stopped by the end of ctx as well as by the fork. release undoes this.
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
