package registry

import (
	"fmt"
	"log/slog"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/presets"
)

// tellStale says once in a process that the preset of an entry is out of date.
func (r *Registry) tellStale(key string, p *presets.Profile) {
	clk := clock.New(r.clock)
	now := clk.Now()
	if r.observer == nil || !p.WarnStale(slog.New(slog.DiscardHandler), now) {
		return
	}
	e := event.New(now, event.LimiterStalePreset, key)
	e.Key = string(p.ID)
	e.Reason = fmt.Sprintf("the preset is of %s: compare it with what the provider says now (%s)", p.Date(), p.Source.URL)
	emit.Send(r.observer, e)
}
