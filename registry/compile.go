package registry

import (
	"slices"
	"strings"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/near"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// compile makes of s what a limiter is made of, and returns the preset with it.
// What is wrong goes into ps; if nothing is, a limiter can be made.
func (s *Spec) compile(at []string, t *presets.Table, ps *problems) (adaptive.Config, presets.Profile) {
	before := len(ps.list)
	c := adaptive.Config{MaxWait: s.MaxWait}
	ps.add(below(at, "limits"), s.Limits.Validate())
	if n := s.Limits.Concurrency; n > unbounded {
		ps.addf(below(at, "limits"), "%d concurrent is more than any law takes: write at most %d, or leave it out for unbounded", n, unbounded)
	}
	if c.MaxWait < 0 {
		ps.addf(below(at, "max_wait"), "%s is negative: write how long a refused call may wait, such as 15m", c.MaxWait)
	}
	profile := s.profile(at, t, ps)
	s.adapt(at, &c, &profile, ps)
	if s.Dialect != "" {
		d, err := dialect.ByName(string(s.Dialect))
		ps.add(below(at, "dialect"), err)
		c.Detector = dialect.Detector(d)
	}
	if len(ps.list) == before {
		_, err := adaptive.New(c) // which knows what a law takes
		ps.add(below(at, "preset"), err)
	}
	return c, profile
}

// profile is what the preset says; without one it is empty.
func (s *Spec) profile(at []string, t *presets.Table, ps *problems) (p presets.Profile) {
	switch {
	case s.Preset != "":
		if t == nil {
			t = presets.Default()
		}
		p, err := t.Lookup(strings.TrimSpace(string(s.Preset)))
		ps.add(below(at, "preset"), err)
		if err != nil || s.Share == 0 {
			return p
		}
		p, err = p.Scaled(s.Share)
		ps.add(below(at, "share"), err)
		return p
	case s.Share != 0:
		ps.mixf(below(at, "share"), "%g of what? It is the share of a preset: name that, or write smaller limits", s.Share)
	}
	return p
}

// adapt sets the law, and the limits with those of the preset that are to be kept.
func (s *Spec) adapt(at []string, c *adaptive.Config, p *presets.Profile, ps *problems) {
	var keep throttle.Limits
	if s.Preset != "" {
		given := p.Config()
		c.Law, c.Detector, keep = given.Law, given.Detector, given.Limits
		if s.Law == AIMD || s.Law == Fixed {
			keep = p.Limits
		}
	}
	n := s.Limits.Concurrency
	if m := keep.Concurrency; n == 0 || m > 0 && m < n {
		n = m
	}
	c.Limits = throttle.Limits{Concurrency: n, Windows: slices.Concat(s.Limits.Windows, keep.Windows)}
	switch s.Law {
	case "", Measured:
		if m, ok := c.Law.(adaptive.Measured); ok && n > 0 { // a concurrency that is given is meant
			m.Initial, m.Max = n, max(n, m.WithDefaults().Max)
			c.Law = m
		}
	case AIMD:
		c.Law = adaptive.AIMD{Max: n}
	case Fixed:
		if unknown := s.Preset != "" && p.ID == ""; n == 0 && len(c.Limits.Windows) == 0 && !unknown {
			ps.mixf(below(at, "law"), "fixed has nothing to keep: add limits, or a preset that has limits")
		}
		if n == 0 {
			n = unbounded
		}
		c.Law = adaptive.AIMD{Initial: n, Min: n, Max: n}
	default:
		ps.addf(below(at, "law"), "%q is no law: %s", clip(string(s.Law)),
			didYouMean(near.Names(string(s.Law), laws(), mostNear), "write "+strings.Join(laws(), ", ")))
	}
}

// unbounded is the most that a law lets be in flight.
const unbounded = 1 << 30
