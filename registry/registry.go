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

// Registry is a set of named guards. It is safe for concurrent use.
type Registry struct {
	clock     clockwork.Clock    // nil means the real one
	observer  event.Observer     // nil means none
	presets   *presets.Table     // nil means presets.Default()
	fallback  recipe             // of a name that is not configured
	templates map[string]*recipe // by the name before "/*"

	mu      sync.RWMutex // guards slots; no user code runs under it
	slots   map[string]*slot
	changes atomic.Uint64 // of slots, written under mu
	sweep   sweeper

	shared  map[string]shared // by address; written by New only
	closing sync.Once
	closed  error // of the first Close
}

// New returns a registry of the guards in c, which are made on first use, except those of a
// group. Their stores are opened now, once for each address; Close closes them. The errors
// are those of Validate and of opening.
func New(c Config) (*Registry, error) {
	r := empty()
	r.clock, r.observer, r.presets = c.Clock, c.Observer, c.Presets
	var ps problems
	known := c.entries(&ps)
	c.findOpeners(known, &ps)
	if err := ps.Err(owner); err != nil {
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
	if err := r.open(known, c.Open); err != nil {
		return nil, err
	}
	return r, nil
}

func empty() *Registry {
	return &Registry{
		fallback: recipe{template: true, idle: time.Hour}, templates: map[string]*recipe{}, slots: map[string]*slot{},
		sweep: sweeper{memory: map[string]*memory{}}, shared: map[string]shared{},
	}
}

// Prewarm makes every configured guard now. Errors are joined.
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
