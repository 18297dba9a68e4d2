package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/event"
)

// Program is a running headrace.
type Program struct {
	Address string `json:"address"`
	dashboard.Status
}

// program examines the program with the dashboard at Options.Page.
func (x *examination) program(ctx context.Context) {
	if x.Page == "" {
		return
	}
	ctx, cancel := x.within(ctx)
	defer cancel()
	s, err := bounded(ctx, x.Ask)
	switch {
	case err != nil && x.Given:
		x.add(Problem, ProgramDown, x.Page, "", "%s", settings.Plain(err))
		return
	case err != nil:
		x.Unseen = append(x.Unseen, "a running headrace: there is no dashboard at "+x.Page+" (set another address with --dashboard ADDR)")
		return
	}
	x.Program = &Program{x.Page, *s}
	for i := range s.Limiters {
		x.limiter(&s.Limiters[i])
	}
	x.events(s.Events)
}

func (x *examination) limiter(l *dashboard.Limiter) {
	switch l.State {
	case dashboard.Closed:
		x.add(Problem, LimiterClosed, l.Name, "remove the cause, then: headrace ctl --addr "+x.Page+" resume '"+l.Name+"'", "calls fail at once: %s", l.Why)
	case dashboard.Paused:
		x.add(Warning, LimiterPaused, l.Name, "to end the pause: headrace ctl --addr "+x.Page+" resume '"+l.Name+"'", "calls wait: %s", l.Why)
	}
	if l.Degraded != "" {
		x.add(Problem, LimiterDegraded, l.Name, "examine the store: headrace doctor --share ADDRESS", "calls are admitted without the store: %s", l.Degraded)
	}
}

// events looks for problems that persist. For a breaker, only the last event counts.
func (x *examination) events(lines []dashboard.Line) {
	open := map[string]string{}
	told := map[string]bool{}
	for _, l := range lines {
		switch event.Kind(l.Kind) { //nolint:exhaustive // other events are not findings
		case event.BreakerOpened:
			open[l.Limiter] = l.Text
		case event.BreakerClosed:
			delete(open, l.Limiter)
		case headrace.SDKRetries:
			if told[l.Limiter+l.Kind] {
				continue
			}
			told[l.Limiter+l.Kind] = true
			x.add(Warning, RetriesTwice, l.Limiter, "turn the SDK's retries off: option.WithMaxRetries(0) in Go, max_retries=0 in Python, maxRetries: 0 in JavaScript",
				"an SDK retries as well, and two retry layers multiply")
		case event.LimiterStalePreset:
			x.add(Warning, PresetStale, l.Limiter, "compare it with the provider's current limits", "%s", l.Text)
		}
	}
	var names []string
	for name := range open {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		x.add(Problem, BreakerOpen, name, "check the responses of the provider or the store; calls are resumed automatically", "%s", strings.TrimSuffix(open[name], "."))
	}
}
