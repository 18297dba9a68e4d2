package guard

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// compiled is a Policy in the terms of the machinery. It never changes.
type compiled struct {
	policy   Policy
	profile  presets.Profile // of the preset; may be empty
	limits   throttle.Limits // the policy's own and those of a hard preset
	law      adaptive.Law    // nil: another guard learns
	lazy     bool            // the controller starts at the first rejected call
	detector adaptive.Detector
	dialect  adaptive.Detector
}

// compile is the only place where a policy becomes limits, a law and detectors.
func (p *Policy) compile(to *invalid.Problems) *compiled {
	c := &compiled{policy: *p, limits: p.Limits, detector: p.Detector}
	c.policy.Within = slices.Clone(p.Within)
	c.profile = p.profile(to)
	speaks := p.Dialect
	if p.Preset != "" && speaks == nil {
		speaks = cmp.Or(c.profile.Dialect, dialect.Auto)
	}
	if speaks != nil {
		c.dialect = p.listen(speaks, to)
	}
	if p.learns() {
		c.compileLaw(to)
	}
	return c
}

// profile looks up the preset.
func (p *Policy) profile(to *invalid.Problems) presets.Profile {
	if !(p.Share >= 0 && p.Share <= 1) { // NaN is neither
		to.Addf("Share", "%g is not a fraction of the provider's limit: use a number in (0, 1], or 0 for all of it", p.Share)
	}
	if p.Preset == "" {
		return presets.Profile{}
	}
	table := p.Presets
	if table == nil {
		table = presets.Default()
	}
	profile, err := table.Lookup(string(p.Preset))
	to.AddPart("Preset", err)
	if err != nil || p.Share == 0 {
		return profile
	}
	scaled, _ := profile.Scaled(p.Share) // what it reports has been
	return scaled
}

func (p *Policy) listen(d dialect.Dialect, to *invalid.Problems) adaptive.Detector {
	if invalid.Nil(d) {
		to.Addf("Dialect", "it is a nil pointer: dialect.Auto recognises the provider")
		return nil
	}
	if n, ok := d.(dialect.Name); ok {
		named, err := dialect.ByName(string(n))
		to.AddPart("Dialect", err)
		if err != nil {
			return nil
		}
		d = named
	}
	return dialect.Detector(d)
}

// compileLaw decides where learning starts. It depends on nothing but the
// policy: the same one starts the same way whatever makes the calls.
func (c *compiled) compileLaw(to *invalid.Problems) {
	p := &c.policy
	if p.Law != nil && invalid.Nil(p.Law) {
		to.Addf("Law", "it is a nil pointer: leave the field out for adaptive.Measured")
		return
	}
	measured, isMeasured := p.Law.(adaptive.Measured)
	given := p.Preset != ""
	switch {
	case isRemote(p.Law):
		c.law = p.Law
		if given && c.profile.Hard {
			c.limits = both(p.Limits, c.profile.Limits)
		}
	case given && (p.Law == nil || isMeasured):
		if measured.Prior.Concurrency == 0 && len(measured.Prior.Windows) == 0 {
			measured.Prior = c.profile.Prior()
		}
		if measured.Initial == 0 { // the documented rate is what bounds the start
			measured.Max = max(measured.WithDefaults().Max, c.profile.Limits.Concurrency, p.Limits.Concurrency)
			measured.Initial = cmp.Or(c.profile.Limits.Concurrency, measured.Max)
		}
		c.law = measured
		if c.profile.Hard || p.Store != nil {
			c.limits = both(p.Limits, c.profile.Limits)
		}
	case given: // this law cannot start from the limits, and would not know of them
		c.law = p.Law
		c.limits = both(p.Limits, c.profile.Limits)
	case p.Law != nil:
		c.law = p.Law
	case p.isPart():
		c.law = measured
	default:
		c.law, c.lazy = adaptive.Measured{}, true
		return // it is valid, and most guards never start it
	}
	if p.isPart() && !isRemote(c.law) {
		c.usePart(to)
	}
	_, err := c.law.Start(time.Time{}, 1)
	to.AddPart("Law", err)
}

// isPart reports whether the guard may use only a part of what the provider allows.
func (p *Policy) isPart() bool { return p.Share > 0 && p.Share < 1 }

// usePart gives the controller its part.
func (c *compiled) usePart(to *invalid.Problems) {
	p := &c.policy
	switch _, isMeasured := c.law.(adaptive.Measured); {
	case isMeasured:
		c.law = hook.Open[interface {
			Part(share float64) adaptive.Law
		}](c.law).Part(p.Share)
	case p.Preset == "":
		to.Addf("Share", "%g of an unknown limit: only adaptive.Measured can find its share; set a Preset, or smaller Limits", p.Share)
	}
}

// isRemote reports whether another guard learns for the guards of law.
func isRemote(law adaptive.Law) bool {
	_, yes := law.(remote) // it is its own state
	return yes
}

// atFirst returns the controller of a lazy guard after its first rejection, with inFlight calls in flight.
func (c *compiled) atFirst(inFlight int) adaptive.Law {
	law := adaptive.Measured{}.WithDefaults()
	law.Max = max(law.Max, inFlight, c.limits.Concurrency)
	law.Initial = max(law.Initial, inFlight)
	return law
}

// sameLaw reports whether a law that runs by c can go on under d.
func (c *compiled) sameLaw(d *compiled) bool {
	return reflect.DeepEqual(filledIn(c.law), filledIn(d.law))
}

// filledIn is law with its defaults.
func filledIn(law adaptive.Law) adaptive.Law {
	switch x := law.(type) {
	case adaptive.Measured:
		return x.WithDefaults()
	case adaptive.AIMD:
		return x.WithDefaults()
	default:
		return law
	}
}

// both are limits that keep a and b.
func both(a, b throttle.Limits) throttle.Limits {
	l := throttle.Limits{Concurrency: max(a.Concurrency, b.Concurrency), Windows: slices.Concat(a.Windows, b.Windows)}
	if a.Concurrency != 0 && b.Concurrency != 0 {
		l.Concurrency = min(a.Concurrency, b.Concurrency)
	}
	return l
}
