package flow

import (
	"context"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
)

const (
	defaultProgress  = time.Second
	shortestProgress = 10 * time.Millisecond
)

// WithProgress calls f with a snapshot of the run at most once in every, and with one that is Final at
// its end. 0 means every second; the shortest is 10 ms. The same snapshots are events
// (event.FlowProgress); with a nil f only that.
//
// f must not change a snapshot. It runs in a goroutine of its own: if it is slow, snapshots are
// dropped, except the last, which Run waits for. Its panics are discarded.
func WithProgress(f func(event.Progress), every time.Duration) RunOption {
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

// WithSeries adds a Series to the Report.
func WithSeries() RunOption {
	return func(r *runSettings) { r.series = true }
}

// WithGuards shows guards in progress and Series that are not settings of nodes, such as those of a
// client.
func WithGuards(guards ...*guard.Guard) RunOption {
	return func(r *runSettings) { r.guards = append(r.guards, guards...) }
}

// Expect declares how many items this run of the node of that name will have, so that Progress has a
// total and an ETA. Call it once in the Prep of a batch, with its context.
func Expect(ctx context.Context, name string, items int) {
	if o := event.From(ctx); o != nil {
		e := event.New(time.Now(), event.NodeInput, name)
		e.To = float64(max(0, items))
		emit.Send(o, e)
	}
}
