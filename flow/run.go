package flow

import (
	"context"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// RunOption is a setting of Run.
type RunOption func(*runSettings)

type runSettings struct {
	observer event.Observer
	run      string
}

// WithRun names the run for the journals of batches inside: a later process that
// runs the same under the same name goes on where this one has come to. See node.Batch.WithJournal.
func WithRun(name string) RunOption {
	return func(r *runSettings) { r.run = name }
}

// WithObserver sends everything that happens during the run to o: steps,
// items, hits, cuts. It must be safe for concurrent use and return at once.
func WithObserver(o event.Observer) RunOption {
	return func(r *runSettings) { r.observer = event.Tee(r.observer, o) }
}

// Run runs n on s: a flow, or any other node. The report is there with an
// error too and tells what came to pass until then.
func Run[S any](ctx context.Context, n node.Node[S], s S, opts ...RunOption) (*Report, error) {
	p := invalid.Problems{Owner: "flow.Run"}
	if invalid.Nil(n) {
		p.Addf("n", "the node is nil")
		return &Report{}, p.Err()
	}
	var set runSettings
	for _, o := range opts {
		o(&set)
	}
	t := newTally(n.Name())
	began := time.Now()
	ctx = occurrence.With(event.With(ctx, event.Tee(t, set.observer)))
	if set.run != "" {
		ctx = journal.WithRun(ctx, set.run)
	}
	if ctx.Err() != nil {
		return t.report(node.Next, time.Since(began)), context.Cause(ctx)
	}
	action, err := runNode(ctx, n, s)
	return t.report(action, time.Since(began)), err
}
