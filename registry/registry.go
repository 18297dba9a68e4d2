package registry

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets"
)

// Registry is a set of named guards. All methods are safe for concurrent use,
// and making the guard of one name does not block the others.
type Registry struct {
	clock     clockwork.Clock    // nil means the real one
	observer  event.Observer     // nil means none
	presets   *presets.Table     // nil means that of the Config
	fallback  recipe             // of a name that is not configured
	templates map[string]*recipe // by the name before "/*"

	mu      sync.RWMutex // guards slots; no user code runs under it
	slots   map[string]*slot
	changes atomic.Uint64 // of slots, written under mu
	sweep   sweeper
}

// Option is a setting of New.
type Option func(*Registry)

// WithClock sets the clock of policies that have none. Nil means the real one.
func WithClock(c clockwork.Clock) Option {
	return func(r *Registry) { r.clock = c }
}

// WithObserver sends the events of every guard to o, besides the Observer of
// its policy. Event.Source is the name of the guard.
func WithObserver(o event.Observer) Option { return func(r *Registry) { r.observer = o } }

// WithPresets sets the table that presets are looked up in, for policies that
// have none. Nil means presets.Default(). ParseJSON and package config take the
// option too, and the Config that they return remembers it.
func WithPresets(t *presets.Table) Option { return func(r *Registry) { r.presets = t } }

// New returns a registry of the guards in c. They are made when they are asked
// for; Prewarm makes all of them. The problems of c are those of Validate.
func New(c Config, opts ...Option) (*Registry, error) {
	r := with(opts)
	r.give(&c)
	var ps problems
	known := c.entries(&ps)
	if err := ps.err(); err != nil {
		return nil, err
	}
	r.fallback = known[0].recipe
	for i := range known[1:] {
		x := &known[1+i]
		if prefix, yes := isTemplate(x.key); yes {
			r.templates[prefix] = &x.recipe
		} else {
			r.slots[x.key] = &slot{key: x.key, of: &x.recipe}
		}
	}
	return r, nil
}

// with is an empty registry.
func with(opts []Option) *Registry {
	r := &Registry{
		fallback: recipe{template: true, idle: time.Hour}, templates: map[string]*recipe{}, slots: map[string]*slot{},
		sweep: sweeper{memory: map[string]*memory{}},
	}
	for _, o := range opts {
		o(r)
	}
	return r
}

// give has c use the presets of an option.
func (r *Registry) give(c *Config) {
	if r.presets != nil {
		c.presets = r.presets
	}
}

// Prewarm makes every guard that is known and not yet made. Errors are joined, each with its name.
func (r *Registry) Prewarm() error {
	p := invalid.Problems{Owner: owner}
	for _, s := range r.sorted() {
		if _, err := r.guard(s); err != errGone { //nolint:errorlint // it is not wrapped
			p.AddPart(s.key, err)
		}
	}
	return p.Err()
}

const owner = "registry"
