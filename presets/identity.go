package presets

import (
	"slices"
	"strings"

	"github.com/headrace/headrace/presets/dialect"
)

// identity checks and completes what says which preset it is.
func (c *checker) identity(r *row) {
	p := r.Profile
	provider, rest, _ := strings.Cut(string(p.ID), "/")
	tier, model, named := strings.Cut(rest, "/")
	switch {
	case tier == "" || strings.Contains("/"+string(p.ID)+"/", "//"):
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

	repeats := func(field string, value *string, want string) {
		if *value == "" {
			*value = want
		}
		if strings.ToLower(*value) != want {
			c.add(r, field, "%q is not that of the id, which says %q", clip(*value), clip(want))
		}
	}
	repeats("provider", &p.Provider, provider)
	repeats("tier", &p.Tier, tier)
	p.Provider, p.Tier = provider, tier
	if named {
		short := p.Model[strings.LastIndexByte(p.Model, '/')+1:] // the ID may leave out the model's maker
		if strings.ToLower(short) != model {
			repeats("model", &p.Model, model)
		}
	}
	if p.Pool == "" {
		p.Pool = string(p.ID)
	}
	c.kind(r)
	c.dialect(r)
}

func (c *checker) kind(r *row) {
	unlimited := r.Limits.Concurrency == 0 && len(r.Limits.Windows) == 0
	if r.Kind == "" {
		r.Kind = KindLimits
	}
	switch r.Kind {
	case KindLimits:
		if unlimited && !r.bad {
			c.add(r, "", "it limits nothing: add a number such as rpm, or set kind to info")
		}
	case KindInfo, KindUnavailable:
		if !unlimited {
			c.add(r, "kind", "it is %s, and there are limits: leave one of them out", r.Kind)
		}
	default:
		c.add(r, "kind", "%q is not a kind: write limits, info or unavailable", clip(string(r.Kind)))
	}
}

// dialect checks the given dialect. A provider without one is recognised by its responses.
func (c *checker) dialect(r *row) {
	if r.Dialect == "" {
		if c.dialects == nil {
			c.dialects = dialect.Names()
		}
		r.Dialect = dialect.Auto
		if name := dialect.Name(r.Provider); name != dialect.Generic && slices.Contains(c.dialects, name) {
			r.Dialect = name
		}
		return
	}
	name, err := dialect.ByName(string(r.Dialect))
	if err != nil {
		c.add(r, "dialect", "%s", err)
		return
	}
	r.Dialect = name
}
