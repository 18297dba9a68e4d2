package flow

import (
	"context"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
)

// Progress is a snapshot of a run: see WithProgress.
type Progress = event.Progress

// Items counts the items of a node, or of a run.
type Items = event.Items

// NodeProgress is how far one node has come.
type NodeProgress = event.NodeProgress

// LimiterProgress is what a limiter does at the moment.
type LimiterProgress = event.LimiterProgress

const (
	defaultProgress  = time.Second
	shortestProgress = 10 * time.Millisecond
)

// WithProgress calls f with a snapshot of the run, at most every so often, and
// with one at its end, which is Final. 0 means every second; less than 10 ms
// is taken for 10 ms, and what is negative is refused by Run with a *fault.FieldError.
//
// The same snapshots are sent as events, event.FlowProgress; a nil f wants only those.
//
// f has a goroutine of its own and never holds up the work: while it takes its
// time, snapshots are dropped and not queued. The last one is never dropped, and
// Run returns only when f has returned from it. Its panics are recovered and
// forgotten. It must not change what it is given. If the option is given more
// than once each f is called.
func WithProgress(f func(Progress), every time.Duration) RunOption {
	return func(r *runSettings) {
		switch {
		case every == 0:
			every = defaultProgress
		case every > 0:
			every = max(every, shortestProgress)
		}
		r.viewers = append(r.viewers, &viewer{f: f, every: every})
	}
}

// WithSeries has the Report tell how the run went over time: see Series. It
// looks every second.
func WithSeries() RunOption {
	return func(r *runSettings) { r.series = true }
}

// WithGuards shows guards in Progress and Series that are not settings of nodes:
// those that their functions, or a client inside of them, use themselves.
func WithGuards(guards ...*guard.Guard) RunOption {
	return func(r *runSettings) { r.guards = append(r.guards, guards...) }
}

// Expect says that this run of the node of that name will have so many items,
// so that Progress can tell a total and an ETA. It is for the Prep of a batch
// that knows the number beforehand, with the context that Prep was given; call it once.
// What is said of the input is not enforced.
func Expect(ctx context.Context, name string, items int) {
	if o := event.From(ctx); o != nil {
		e := event.New(time.Now(), event.NodeInput, name)
		e.To = float64(max(0, items))
		emit.Send(o, e)
	}
}
