package presets

import (
	"slices"
	"strings"

	"github.com/headrace/headrace/presets/dialect"
)

// identity checks and completes what says which preset it is.
func (c *checker) identity(r *row, p *Profile) {
	parts := strings.SplitN(string(p.ID), "/", 3)
	switch {
	case len(parts) < 2 || slices.Contains(strings.Split(string(p.ID), "/"), ""):
		c.add(r, "id", "%q is not provider/tier/model or provider/tier", clip(string(p.ID)))
		return
	case string(p.ID) != strings.ToLower(string(p.ID)) || strings.ContainsAny(string(p.ID), " \t\n"):
		c.add(r, "id", "%q is not in lower case without spaces: model may keep its own spelling", clip(string(p.ID)))
		return
	}
	if c.ids == nil {
		c.ids = map[ID]int{}
	}
	if first, taken := c.ids[p.ID]; taken {
		c.add(r, "id", "row %d has it already: give one of them another", first)
	}
	c.ids[p.ID] = r.number

	named := func(field string, value *string, want string) {
		if *value == "" {
			*value = want
		}
		if strings.ToLower(*value) != want {
			c.add(r, field, "%q is not that of the id, which says %q", clip(*value), clip(want))
		}
	}
	named("provider", &p.Provider, parts[0])
	named("tier", &p.Tier, parts[1])
	p.Provider, p.Tier = parts[0], parts[1]
	if len(parts) == 3 {
		short := p.Model[strings.LastIndexByte(p.Model, '/')+1:] // the id may leave out who made the model
		if strings.ToLower(short) != parts[2] {
			named("model", &p.Model, parts[2])
		}
	}
	if p.Pool == "" {
		p.Pool = string(p.ID)
	}
	c.kind(r, p)
	c.dialect(r, p)
}

func (c *checker) kind(r *row, p *Profile) {
	unlimited := p.Limits.Concurrency == 0 && len(p.Limits.Windows) == 0
	if p.Kind == "" {
		p.Kind = KindLimits
	}
	switch p.Kind {
	case KindLimits:
		if unlimited && !r.bad {
			c.add(r, "", "it limits nothing: add a number such as rpm, or set kind to info")
		}
	case KindInfo, KindUnavailable:
		if !unlimited {
			c.add(r, "kind", "it is %s, and there are limits: leave one of them out", p.Kind)
		}
	default:
		c.add(r, "kind", "%q is not a kind: write limits, info or unavailable", clip(string(p.Kind)))
	}
}

// dialect checks the one that was given; a provider that has none, and one that
// is nobody in particular, are recognised when they answer.
func (c *checker) dialect(r *row, p *Profile) {
	if p.Dialect == "" {
		p.Dialect = dialect.Auto
		if name, err := dialect.ByName(p.Provider); err == nil && name != dialect.Generic {
			p.Dialect = name
		}
		return
	}
	name, err := dialect.ByName(string(p.Dialect))
	if err != nil {
		c.add(r, "dialect", "%s", err)
		return
	}
	p.Dialect = name
}
