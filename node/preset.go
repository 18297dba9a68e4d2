package node

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// known is what a node was told about the provider that it calls.
type known struct {
	preset     bool
	profile    presets.Profile // of the preset
	presetErr  error           // why there is none
	dialect    dialect.Dialect // nil: the preset's
	dialectErr error
	detector   adaptive.Detector // the user's own
}

func (s *settings) setPreset(id presets.ID) {
	s.setOwn("WithPreset", func() {
		s.known.preset = true
		s.known.profile, s.known.presetErr = id.Profile()
		s.config.Detector = s.known.listen()
	})
}

func (s *settings) setDialect(d dialect.Dialect) {
	s.setOwn("WithDialect", func() {
		if invalid.Nil(d) {
			s.setup.Addf("WithDialect", "the dialect is nil: dialect.Auto finds out who speaks")
			return
		}
		s.known.dialect, s.known.dialectErr = d, nil
		if n, ok := d.(dialect.Name); ok {
			s.known.dialect, s.known.dialectErr = dialect.ByName(string(n))
		}
		s.config.Detector = s.known.listen()
	})
}

func (s *settings) setDetector(d adaptive.Detector) {
	s.setOwn("WithDetector", func() {
		if d == nil {
			s.setup.Addf("WithDetector", "the function is nil: leave the setting out")
			return
		}
		s.known.detector = d
		s.config.Detector = s.known.listen()
	})
}

// listen puts the detectors together: the user's own, then the dialect.
func (k *known) listen() adaptive.Detector {
	var speaks adaptive.Detector
	switch {
	case k.dialect != nil:
		speaks = dialect.Detector(k.dialect)
	case k.preset:
		speaks = k.profile.Config().Detector
	}
	own := k.detector
	if own == nil {
		return speaks
	}
	if speaks == nil {
		return own
	}
	return func(err error) adaptive.Feedback {
		if f := ask(own, err); f.Verdict != adaptive.Unclassified {
			return f
		}
		return speaks(err)
	}
}

// ask has a detector that panics not know the error, as adaptive.Classify does.
func ask(d adaptive.Detector, err error) (f adaptive.Feedback) {
	defer func() { _ = recover() }()
	return d(err)
}

// ownConfig is what the node's own limiter is made of, whatever the order in
// which it was said.
func (s *settings) ownConfig() adaptive.Config {
	c := s.config
	workers := s.parallel
	if workers == 1 {
		workers = 0 // a batch may run in several places, each with its one worker
	}
	if !s.known.preset {
		if c.Law == nil && workers > 0 {
			c.Law = startAt(adaptive.Measured{}, workers, c.Limits.Concurrency)
		}
		return c
	}
	given, profile := s.known.profile.Config(), &s.known.profile
	start := func(m adaptive.Measured) adaptive.Law {
		m.Prior = profile.Prior()
		return startAt(m, workers, c.Limits.Concurrency, profile.Limits.Concurrency)
	}
	switch law := c.Law.(type) {
	case nil:
		c.Law = start(adaptive.Measured{})
	case adaptive.Measured:
		if law.Prior.Concurrency == 0 && len(law.Prior.Windows) == 0 {
			c.Law = start(law)
		}
	default: // it cannot start from the limits, and would not know of them
		given.Limits = profile.Limits
	}
	c.Limits = both(c.Limits, given.Limits)
	return c
}

// startAt has a law that does not say so begin with the least of bounds, 0 for
// none, and go as far as any of them.
func startAt(m adaptive.Measured, bounds ...int) adaptive.Measured {
	bounds = slices.DeleteFunc(bounds, func(n int) bool { return n <= 0 })
	if len(bounds) == 0 {
		return m
	}
	if m.Max == 0 {
		m.Max = max(m.WithDefaults().Max, slices.Max(bounds))
	}
	if m.Initial == 0 {
		m.Initial = min(m.Max, slices.Min(bounds))
	}
	return m
}

// both are limits that keep a and b.
func both(a, b throttle.Limits) throttle.Limits {
	l := throttle.Limits{Concurrency: max(a.Concurrency, b.Concurrency), Windows: slices.Concat(a.Windows, b.Windows)}
	if a.Concurrency != 0 && b.Concurrency != 0 {
		l.Concurrency = min(a.Concurrency, b.Concurrency)
	}
	return l
}

// tellStale says once in a process that a preset is older than a year.
func (s *settings) tellStale(o event.Observer, now time.Time) {
	p := &s.known.profile
	if !s.known.preset || !p.WarnStale(slog.New(slog.DiscardHandler), now) {
		return
	}
	e := event.New(now, event.LimiterStalePreset, s.name)
	e.Key = string(p.ID)
	e.Reason = fmt.Sprintf("the preset is of %s: compare it with what the provider says now (%s)", p.Date(), p.Source.URL)
	emit.Send(o, e)
}
