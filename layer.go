package headrace

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"weak"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/retry"
)

// layer makes the guards of one transport, which hold what With and Within say.
type layer struct {
	policy guard.Policy
	within []*guard.Guard
	learns bool // the guards are not within those of the registry
	bare   bool // the policy sets nothing that a guard holds for itself
	alone  bool // requests pass no guards besides

	mu        sync.Mutex // guards all below
	made      map[below]*guard.Guard
	most      int                                 // with more of them, idle ones are forgotten
	forgotten map[below]weak.Pointer[guard.Guard] // which routes and calls may still hold
}

// leastMade is how many guards a layer has before idle ones are forgotten.
const leastMade = 1024

// below is what a guard of the layer is made for.
type below struct {
	shared *guard.Guard // may be nil
	name   string
}

func (l *layer) init(p guard.Policy, within []*guard.Guard) {
	l.learns = p.Law != nil || p.Share != 0 || p.Detector != nil || p.Store != nil
	l.within = slices.Concat(p.Within, within)
	l.bare = !l.learns && p.Limits.Concurrency == 0 && len(p.Limits.Windows) == 0 && p.MaxWait == 0 && p.MaxQueue == 0 &&
		p.Timeout == 0 && p.Breaker == nil && p.Retry == nil && !p.Propagate
	l.policy, l.made, l.most = p, map[below]*guard.Guard{}, leastMade
	l.forgotten = map[below]weak.Pointer[guard.Guard]{}
}

// over returns the guard for requests that pass shared, unless nil. name is
// that of their route.
func (l *layer) over(shared *guard.Guard, preset presets.ID, name string) (*guard.Guard, error) {
	if l.bare {
		if len(l.within) == 0 && (retries(shared) || l.alone && l.policy.Name == "" && l.policy.Clock == nil) {
			return shared, nil // a call has a Retry of its own, but the clock of its guard
		}
		name = "" // one for all routes
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	to := below{shared, name}
	if g := l.made[to]; g != nil {
		return g, nil
	}
	g := l.forgotten[to].Value()
	if g == nil {
		var err error
		if g, err = guard.New(l.settings(shared, preset, name)); err != nil {
			return nil, err
		}
	}
	l.tidyLocked()
	l.made[to] = g
	return g, nil
}

// tidyLocked forgets idle guards if there are many.
func (l *layer) tidyLocked() {
	if len(l.made) < l.most {
		return
	}
	maps.DeleteFunc(l.forgotten, func(_ below, g weak.Pointer[guard.Guard]) bool { return g.Value() == nil })
	maps.DeleteFunc(l.made, func(to below, g *guard.Guard) bool {
		idle := hook.Open[interface{ Idle() bool }](g).Idle()
		if idle {
			l.forgotten[to] = weak.Make(g)
		}
		return idle
	})
	l.most = max(leastMade, 2*len(l.made))
}

// settings is the policy of a guard of the layer.
func (l *layer) settings(shared *guard.Guard, preset presets.ID, name string) guard.Policy {
	p := l.policy
	p.Observer = nil // the context of each request has it
	if p.Within = l.within; shared != nil {
		p.Within = append([]*guard.Guard{shared}, l.within...) // the first one learns
	}
	if p.Name = cmp.Or(p.Name, name); p.Name == "" {
		p.Name = p.Within[0].Name()
	}
	if p.Retry == nil && !slices.ContainsFunc(p.Within, retries) {
		p.Retry = defaultRetry()
	}
	if l.learns {
		p.Preset = preset
		return p
	}
	p.Preset, p.Dialect = "", nil // the guards below learn
	return p
}

func retries(g *guard.Guard) bool {
	return has(g, func(p *guard.Policy) bool { return p.Retry != nil })
}

func defaultRetry() *retry.Policy { return new(retry.Policy) }

// speaks returns the dialect of the requests that pass g.
func (l *layer) speaks(g *guard.Guard) (d dialect.Dialect) {
	if l.policy.Dialect != nil {
		return byName(l.policy.Dialect)
	}
	has(g, func(p *guard.Policy) bool {
		if d = p.Dialect; d == nil && p.Preset != "" {
			table := p.Presets
			if table == nil {
				table = presets.Default()
			}
			profile, _ := table.Lookup(string(p.Preset)) // it is valid
			d = profile.Dialect
		}
		return d != nil
	})
	if d == nil {
		return dialect.Auto
	}
	return byName(d)
}

// has reports whether f finds what it looks for in the policy of g or of those
// that g is within, the nearest first.
func has(g *guard.Guard, f func(*guard.Policy) bool) bool {
	p := g.Policy()
	return f(&p) || slices.ContainsFunc(p.Within, func(w *guard.Guard) bool { return has(w, f) })
}

// byName returns d, or what d is the name of.
func byName(d dialect.Dialect) dialect.Dialect {
	n, ok := d.(dialect.Name)
	if !ok {
		return d
	}
	if known, err := dialect.ByName(string(n)); err == nil {
		return known
	}
	return dialect.Auto
}
