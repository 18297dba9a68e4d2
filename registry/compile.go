package registry

import (
	"slices"
	"strings"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
)

// compile makes of s what a limiter is made of. What is wrong goes into ps.
func (s *Spec) compile(at []string, ps *problems) adaptive.Config {
	c := adaptive.Config{Limits: s.Limits, MaxWait: s.MaxWait}
	c.Limits.Windows = slices.Clone(c.Limits.Windows)
	ps.add(below(at, "limits"), s.Limits.Validate())
	s.bound(at, &c, ps)
	if c.MaxWait < 0 {
		ps.addf(below(at, "max_wait"), "%s is negative: write how long a refused call may wait, such as 15m", c.MaxWait)
	}
	profile := s.profile(at, ps)
	s.adapt(at, &c, &profile, ps)
	if s.Dialect != "" {
		d, err := dialect.ByName(string(s.Dialect))
		ps.add(below(at, "dialect"), err)
		c.Detector = dialect.Detector(d)
	}
	return c
}

// bound sets the most calls in flight.
func (s *Spec) bound(at []string, c *adaptive.Config, ps *problems) {
	at = below(at, "concurrency")
	switch n, limit := s.Concurrency, s.Limits.Concurrency; {
	case n < 0:
		ps.addf(at, "%d is negative: use 0 for unbounded, or at least 1", n)
	case n > 0 && limit > 0 && n != limit:
		ps.mixf(at, "%d is not the %d of the limits: leave one out", n, limit)
	case n > 0:
		c.Limits.Concurrency = n
	}
}

// profile is what the preset says; without one it is empty.
func (s *Spec) profile(at []string, ps *problems) (p presets.Profile) {
	switch {
	case s.Preset != "":
		p, err := presets.Lookup(strings.TrimSpace(string(s.Preset)))
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

// adapt sets the law, and what the preset gives to it or to the limits.
func (s *Spec) adapt(at []string, c *adaptive.Config, p *presets.Profile, ps *problems) {
	n, own := c.Limits.Concurrency, c.Limits
	if s.Preset != "" {
		given := p.Config()
		c.Law, c.Detector, c.Limits = given.Law, given.Detector, given.Limits
		if s.Law == AIMD || s.Law == Fixed {
			c.Limits = p.Limits
		}
		c.Limits.Windows = append(slices.Clone(own.Windows), c.Limits.Windows...)
		if n > 0 {
			c.Limits.Concurrency = n
		}
		n = c.Limits.Concurrency
	}
	switch s.Law {
	case "", Measured:
		if m, ok := c.Law.(adaptive.Measured); ok && n > 0 { // a concurrency that is given is meant
			m.Initial, m.Max = n, max(n, m.WithDefaults().Max)
			c.Law = m
		}
	case AIMD:
		law := adaptive.AIMD{Max: n}
		c.Law = law
	case Fixed:
		if unknown := s.Preset != "" && p.ID == ""; n == 0 && len(c.Limits.Windows) == 0 && !unknown {
			ps.mixf(below(at, "law"), "fixed has nothing to keep: add limits, a concurrency, or a preset that has limits")
		}
		if n == 0 {
			n = unbounded
		}
		c.Law = adaptive.AIMD{Initial: n, Min: n, Max: n}
	default:
		ps.addf(below(at, "law"), "%q is no law: %s", clip(string(s.Law)),
			didYouMean(near(string(s.Law), laws()), "write "+strings.Join(laws(), ", ")))
	}
}

// unbounded is the most that adaptive.AIMD lets be in flight.
const unbounded = 1 << 30
