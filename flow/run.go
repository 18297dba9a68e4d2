package flow

import (
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// RunOption is an option of Run.
type RunOption func(*runSettings)

type runSettings struct {
	observer event.Observer
	run      *string // nil: that of the context
	viewers  []*viewer
	series   bool
	guards   []*guard.Guard
}

func (r *runSettings) validate(p *invalid.Problems) {
	for _, v := range r.viewers {
		if v.every < 0 {
			p.Addf("WithProgress", "%s is negative: use 0 for %s", v.every, defaultProgress)
		}
	}
	if r.run != nil && *r.run == "" {
		p.Addf("WithRun", "the name is empty: leave the option out for that of the context")
	}
	if slices.Contains(r.guards, nil) {
		p.Addf("WithGuards", "a guard is nil")
	}
}

// watches reports whether the run is watched before its end.
func (r *runSettings) watches() bool { return len(r.viewers) > 0 || r.series }

// WithRun names the run for the journals of batches inside: a later run of the same name resumes it.
// An empty name is an error. See node.Batch.WithJournal.
func WithRun(name string) RunOption {
	return func(r *runSettings) { r.run = &name }
}

// WithObserver sends all events of the run to o, which must be safe for concurrent use and return at
// once.
func WithObserver(o event.Observer) RunOption {
	return func(r *runSettings) { r.observer = event.Tee(r.observer, o) }
}

// Run runs n, a flow or any other node, on s. The report is complete with an error too.
func Run[S any](ctx context.Context, n node.Node[S], s S, opts ...RunOption) (*Report, error) {
	p := invalid.Problems{Owner: "flow.Run"}
	if invalid.Nil(n) {
		p.Addf("n", "the node is nil")
		return &Report{}, p.Err()
	}
	var set runSettings
	invalid.Options(&p, opts, &set)
	if set.validate(&p); p.Err() != nil {
		return &Report{}, p.Err()
	}
	began := time.Now()
	t := newTally(n.Name(), began, set.watches())
	ctx, end := occurrence.With(event.With(ctx, event.Tee(t, set.observer)))
	defer end()
	if set.run != nil {
		ctx = journal.WithRun(ctx, *set.run)
	}
	if ctx.Err() != nil {
		return t.report(node.Next, time.Since(began)), context.Cause(ctx)
	}
	var (
		w       = watched(n, t, event.From(ctx), &set)
		action  node.Action
		elapsed time.Duration
		series  *Series
	)
	err := func() (err error) {
		defer func() { // also after runtime.Goexit in a node
			elapsed = time.Since(began)
			series = w.end(elapsed)
		}()
		action, err = runNode(ctx, n, s)
		return err
	}()
	report := t.report(action, elapsed)
	report.Series = series
	return report, err
}
