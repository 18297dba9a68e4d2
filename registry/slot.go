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

	config adaptive.Config // what the limiter will be made of; never changed

	mu   sync.Mutex // held while the limiter is made, before the registry's lock; guards gone
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

// limiter returns that of s, and makes it if need be. A slot that cannot have
// one leaves the registry.
func (r *Registry) limiter(s *slot) (*adaptive.Limiter, error) {
	l, _, err := r.orMake(s, s.config, true)
	return l, err
}

// orMake returns the limiter of s, or makes it of c. If it cannot be made and
// must, the slot leaves the registry; also if the user's law panics.
func (r *Registry) orMake(s *slot, c adaptive.Config, must bool) (l *adaptive.Limiter, made bool, err error) {
	if l := s.limiter.Load(); l != nil {
		return l, false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch l := s.limiter.Load(); {
	case l != nil:
		return l, false, nil
	case s.gone:
		return nil, false, errGone
	}
	defer func() {
		if must && s.limiter.Load() == nil {
			s.gone = true
			r.drop(s)
		}
	}()
	c.Name = s.key
	l, err = adaptive.New(c, adaptive.WithClock(r.clock), adaptive.WithObserver(r.observer))
	if err == nil {
		s.limiter.Store(l)
	}
	return l, true, err
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
