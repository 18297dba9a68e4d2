package registry

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/hook"
)

// slot is the place of one guard. It is found or put into the registry under
// the registry's lock, and filled under its own: making a guard runs the Start
// of its law, which may be user code.
type slot struct {
	key  string
	of   *recipe
	made atomic.Pointer[guard.Guard] // nil: not made yet

	// Of a template, see sweeper.
	used     atomic.Bool // a caller has asked for it since the last visit
	pinned   bool        // it is not forgotten; guarded by Registry.mu
	saved    []byte      // what a forgotten guard of this name had learned; never changed
	since    time.Time   // of the last use that a visit has seen; guarded by sweeper.visiting, as is admitted
	admitted int64       // calls by then

	mu   sync.Mutex // held while the guard is made, before the registry's lock; guards gone
	gone bool       // it could not be made, and the slot is out of the registry
}

var errGone = errors.New("registry: the configuration that came first could not be used")

// find returns the slot of key, or nil.
func (r *Registry) find(key string) *slot {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.slots[key]
}

// claim returns the slot of key. It is mine if there was none.
func (r *Registry) claim(key string, of *recipe) (s *slot, mine bool) {
	if s := r.find(key); s != nil {
		return s, false
	}
	if s, mine = r.put(key, of); mine && of.template {
		r.visit()
	}
	return s, mine
}

// put returns the slot of key, and puts a new one there if there is none.
func (r *Registry) put(key string, of *recipe) (s *slot, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.slots[key]; s != nil {
		return s, false
	}
	s = &slot{key: key, of: of}
	r.recallLocked(s)
	r.slots[key] = s
	r.changes.Add(1)
	return s, true
}

// drop takes s out, unless another slot has its place already.
func (r *Registry) drop(s *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots[s.key] == s {
		delete(r.slots, s.key)
		r.changes.Add(1)
	}
}

// guard returns that of s, and makes it if need be. A slot that cannot have one
// leaves the registry.
func (r *Registry) guard(s *slot) (*guard.Guard, error) {
	g, _, err := r.orMake(s, s.of.policy, true)
	return g, err
}

// orMake returns the guard of s, or makes it from p. If it cannot be made and
// must, the slot leaves the registry, also after a panic in the controller.
func (r *Registry) orMake(s *slot, p guard.Policy, must bool) (g *guard.Guard, made bool, err error) {
	if g := s.made.Load(); g != nil {
		return g, false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch g := s.made.Load(); {
	case g != nil:
		return g, false, nil
	case s.gone:
		return nil, false, errGone
	}
	defer func() {
		if must && s.made.Load() == nil {
			s.gone = true
			r.drop(s)
		}
	}()
	p = r.completed(p)
	p.Name, p.Within = s.key, append(slices.Clone(p.Within), r.outer(s)...)
	if g, err = r.fresh(p, s.of); err == nil {
		if s.saved != nil {
			_ = g.Restore(s.saved) // what the same law has saved
		}
		if s.of.template {
			hook.Open[interface{ OnSet(set func()) }](g).OnSet(func() { r.keep(s, g) })
		}
		s.made.Store(g)
	}
	return g, true, err
}

// outer returns the guards around the guard of s: by its name, and as its Spec
// says.
func (r *Registry) outer(s *slot) (guards []*guard.Guard) {
	keys := s.of.within
	fixed := func(key string) bool {
		o := r.find(key)
		return o != nil && !o.of.template
	}
	if key := outerOf(s.key, fixed); key != "" {
		keys = append([]string{key}, keys...)
	}
	for _, key := range keys {
		if o := r.find(key); o != nil { // it was not removed
			if g, err := r.guard(o); err == nil {
				guards = append(guards, g)
			}
		}
	}
	return guards
}

// completed is p with what the options of the registry say.
func (r *Registry) completed(p guard.Policy) guard.Policy {
	p.Observer = event.Tee(r.observer, p.Observer)
	if p.Clock == nil {
		p.Clock = r.clock
	}
	if p.Presets == nil {
		p.Presets = r.presets
	}
	return p
}

// sorted is what the registry knows at the moment, by key.
func (r *Registry) sorted() []*slot {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]*slot, 0, len(r.slots))
	for _, s := range r.slots {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *slot) int { return cmp.Compare(a.key, b.key) })
	return all
}
