package registry

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets"
)

// Registry is a set of named limiters. All methods are safe for concurrent use,
// and what one key does never makes another wait.
type Registry struct {
	clock    clockwork.Clock            // nil: the real one
	observer event.Observer             // nil: none
	presets  *presets.Table             // nil: that of the Config
	template adaptive.Config            // of a service that is not configured
	hosts    map[string]adaptive.Config // by service: of a host that is not configured

	mu      sync.RWMutex // guards slots; nothing of the user's runs under it
	slots   map[string]*slot
	changes atomic.Uint64 // of slots, written under mu
}

// Option is a setting of New.
type Option func(*Registry)

// WithClock gives every limiter c in place of the real clock; nil keeps the real one.
func WithClock(c clockwork.Clock) Option {
	return func(r *Registry) { r.clock = c }
}

// WithObserver sends the events of every limiter to o. Their Source is the name.
// New tells it which presets are older than a year, with event.LimiterStalePreset:
// each once in a process, whoever uses it.
func WithObserver(o event.Observer) Option { return func(r *Registry) { r.observer = o } }

// WithPresets looks presets up in t in place of presets.Default(), for who has
// made rows of his own: presets.Default().With(mine). Nil keeps that. ParseJSON
// and package config take it too, and what they return remembers it.
func WithPresets(t *presets.Table) Option { return func(r *Registry) { r.presets = t } }

// New returns a registry that knows the limiters of c. They are made when they
// are asked for; Prewarm makes all of them. The problems of c are those of
// Validate.
func New(c Config, opts ...Option) (*Registry, error) {
	r := with(opts)
	r.give(&c)
	var ps problems
	known := slices.Collect(c.entries(&ps))
	if err := ps.err(); err != nil {
		return nil, err
	}
	for _, x := range known {
		switch {
		case x.key == defaultName:
			r.template = x.config
		case x.host == anyHost:
			r.hosts[x.service] = x.config
		default:
			r.slots[x.key] = &slot{key: x.key, config: x.config}
		}
	}
	for _, x := range known {
		r.tellStale(x.key, &x.profile)
	}
	return r, nil
}

// with is an empty registry.
func with(opts []Option) *Registry {
	r := &Registry{hosts: map[string]adaptive.Config{}, slots: map[string]*slot{}}
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

// Prewarm makes every limiter that is known and not yet made, so that no first
// call does. Errors are joined, each with its name.
func (r *Registry) Prewarm() error {
	p := invalid.Problems{Owner: owner}
	for _, s := range r.sorted() {
		if _, err := r.limiter(s); err != errGone { //nolint:errorlint // it is not wrapped
			p.AddPart(s.key, err)
		}
	}
	return p.Err()
}

const owner = "registry"
