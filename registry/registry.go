package registry

import (
	"sync"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
)

// Registry is a set of named limiters. All methods are safe for concurrent use,
// and what one key does never makes another wait.
type Registry struct {
	options  []adaptive.Option
	template adaptive.Config            // of a service that is not configured
	hosts    map[string]adaptive.Config // by service: of a host that is not configured

	mu    sync.RWMutex // guards slots; nothing of the user's runs under it
	slots map[string]*slot
}

// Option is a setting of New.
type Option func(*Registry)

// WithClock gives every limiter c in place of the real clock; nil keeps the real one.
func WithClock(c clockwork.Clock) Option {
	return func(r *Registry) { r.options = append(r.options, adaptive.WithClock(c)) }
}

// WithObserver sends the events of every limiter to o. Their Source is the name.
func WithObserver(o event.Observer) Option {
	return func(r *Registry) { r.options = append(r.options, adaptive.WithObserver(o)) }
}

// New returns a registry that knows the limiters of c. They are made when they
// are asked for; Prewarm makes all of them. The problems of c are those of
// Validate.
func New(c Config, opts ...Option) (*Registry, error) {
	r := empty()
	for _, o := range opts {
		o(r)
	}
	var ps problems
	for x := range c.entries(&ps) {
		switch {
		case x.key == defaultName:
			r.template = x.config
		case x.host == anyHost:
			r.hosts[x.service] = x.config
		default:
			r.slots[x.key] = &slot{key: x.key, config: x.config}
		}
	}
	if err := ps.err(); err != nil {
		return nil, err
	}
	return r, nil
}

func empty() *Registry {
	return &Registry{hosts: map[string]adaptive.Config{}, slots: map[string]*slot{}}
}

// Prewarm makes every limiter that is known and not yet made, so that no first
// call does. Errors are joined, each with its name.
func (r *Registry) Prewarm() error {
	p := invalid.Problems{Owner: owner}
	for _, s := range r.sorted() {
		_, err := r.limiter(s)
		p.AddPart(s.key, err)
	}
	return p.Err()
}

const owner = "registry"
