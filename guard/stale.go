package guard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
)

//nolint:gochecknoglobals // once per process is the promise
var staleReported sync.Map // of presets.ID

// emitOverdue reports what the first call with an observer is to learn.
func (g *Guard) emitOverdue(ctx context.Context) {
	for _, l := range g.layers {
		if l.stale.Load() {
			l.emitStale(ctx)
		}
		l.emitFailed(ctx)
	}
}

// emitFailed reports that the controller panicked, to the observers of the first call
// that has any.
func (g *Guard) emitFailed(ctx context.Context) {
	if g.governor == nil || !g.governor.unreported.Load() || event.Tee(event.From(ctx), g.observer) == nil || !g.governor.unreported.Swap(false) {
		return
	}
	var failed *fault.PanicError
	g.look(func(time.Time) { failed = g.governor.failed })
	if failed != nil {
		g.emit(ctx, event.Event{Time: g.clock.Now(), Kind: event.LimiterChanged, Reason: g.outOfUse(), Err: failed})
	}
}

// outOfUse describes what a guard does without the controller that panicked.
func (g *Guard) outOfUse() string {
	return fmt.Sprintf("the law %T panicked: until Set or Reset adaptive.Measured is in its place, from the next 429 on", g.current.Load().law)
}

// emitStale reports once per process that a preset is older than a year, to the
// observers of the first call that has any.
func (g *Guard) emitStale(ctx context.Context) {
	p := &g.current.Load().profile
	to := event.Tee(event.From(ctx), g.observer)
	now := g.clock.Now()
	if to == nil || !g.stale.Swap(false) || !p.Stale(now) {
		return
	}
	if _, again := staleReported.LoadOrStore(p.ID, nil); again {
		return
	}
	g.emit(ctx, event.Event{
		Time: now, Kind: event.LimiterStalePreset, Key: string(p.ID),
		Reason: "the preset is of " + p.Date() + ": compare it with the provider's current limits (" + p.Source.URL + ")",
	})
}
