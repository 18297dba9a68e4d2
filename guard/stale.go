package guard

import (
	"context"
	"sync"

	"github.com/headrace/headrace/event"
)

//nolint:gochecknoglobals // once per process is the promise
var staleReported sync.Map // of presets.ID

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
		Reason: "the preset is of " + p.Date() + ": compare it with what the provider says now (" + p.Source.URL + ")",
	})
}
