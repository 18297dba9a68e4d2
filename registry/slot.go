package registry

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/adaptive"
)

// slot is the place of one limiter. It is found or put into the registry under
// the registry's lock, and filled under its own: making a limiter runs the Start
// of its law, which may be the user's.
type slot struct {
	key     string
	limiter atomic.Pointer[adaptive.Limiter] // nil: not made yet

	mu     sync.Mutex      // held while the limiter is made or changed, before the registry's lock; guards the rest
	config adaptive.Config // what the limiter will be made of
	gone   bool            // it could not be made, and the slot is out of the registry
}

var errGone = errors.New("registry: the configuration that came first could not be used")

// find returns the slot of key, or nil.
func (r *Registry) find(key string) *slot {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.slots[key]
}

// claim returns the slot of key. It is mine if there was none.
func (r *Registry) claim(key string, c adaptive.Config) (s *slot, mine bool) {
	if s := r.find(key); s != nil {
		return s, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.slots[key]; s != nil {
		return s, false
	}
	s = &slot{key: key, config: c}
	r.slots[key] = s
	return s, true
}

// drop takes s out, unless another slot has its place already.
func (r *Registry) drop(s *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots[s.key] == s {
		delete(r.slots, s.key)
	}
}

// limiter returns that of s, and makes it if need be. A slot that cannot have
// one leaves the registry.
func (r *Registry) limiter(s *slot) (*adaptive.Limiter, error) {
	if l := s.limiter.Load(); l != nil {
		return l, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.limiter.Load(); l != nil || s.gone {
		return l, s.errGoneLocked()
	}
	l, err := r.makeLocked(s, s.config)
	if err != nil {
		s.gone = true
		r.drop(s)
	}
	return l, err
}

func (s *slot) errGoneLocked() error {
	if s.gone {
		return errGone
	}
	return nil
}

func (r *Registry) makeLocked(s *slot, c adaptive.Config) (*adaptive.Limiter, error) {
	c.Name = s.key
	l, err := adaptive.New(c, r.options...)
	if err == nil {
		s.limiter.Store(l)
	}
	return l, err
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
