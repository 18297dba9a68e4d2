package registry

import (
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/near"
)

// Register makes a guard from p under a free name. p.Name is ignored. A name
// that is taken, also by the configuration, is an *ExistsError; the other errors
// are those of guard.New. A name with slashes is within
// the names before each slash that exist now, besides p.Within.
func (r *Registry) Register(name string, p guard.Policy) (*guard.Guard, error) {
	key, err := checked(name)
	if err != nil {
		return nil, err
	}
	s, mine := r.claim(key, &recipe{policy: p})
	if !mine {
		return nil, &ExistsError{Name: key}
	}
	return r.guard(s)
}

// GetOrCreate returns the guard of that name, whatever its policy is, or makes
// it from p. Concurrent callers get the same guard.
func (r *Registry) GetOrCreate(name string, p guard.Policy) (*guard.Guard, error) {
	key, err := checked(name)
	if err != nil {
		return nil, err
	}
	for {
		s, mine := r.claim(key, &recipe{policy: p})
		if g, err := r.guard(s); err == nil || mine {
			return g, err
		} // the policy of another caller was invalid
	}
}

// Replace sets the policy of the guard of that name in place, see
// guard.Guard.Set: waiting calls keep their place, and every holder of the guard
// sees the change. A name that is free gets a guard made from p. If p is
// invalid nothing changes.
func (r *Registry) Replace(name string, p guard.Policy) (*guard.Guard, error) {
	key, err := checked(name)
	if err != nil {
		return nil, err
	}
	for {
		s, mine := r.claim(key, &recipe{policy: p})
		if g, err := r.replace(s, mine, p); err != errGone { //nolint:errorlint // it is not wrapped
			return g, err
		}
	}
}

func (r *Registry) replace(s *slot, mine bool, p guard.Policy) (*guard.Guard, error) {
	if !r.pin(s) {
		return nil, errGone
	}
	g, made, err := r.orMake(s, p, mine)
	if err != nil || made {
		return g, err
	}
	p = r.completed(p)
	p.Name = ""
	if err := g.Set(p); err != nil { // observers are called: no lock is held
		return nil, err
	}
	return g, nil
}

// Remove takes the guard of that name, or its configuration, out of the
// registry, and reports whether there was one. Callers that have the guard can
// go on using it; the next guard of that name knows nothing of it, so together
// they admit twice as much. To change limits use Replace.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := keyOf(name)
	delete(r.sweep.memory, key)
	_, ok := r.slots[key]
	if ok {
		delete(r.slots, key)
		r.changes.Add(1)
	}
	return ok
}

// Reset forgets what a guard has learned and its statistics, see
// guard.Guard.Reset. An unknown name is an *UnknownError.
func (r *Registry) Reset(name string) error {
	key := keyOf(name)
	s := r.find(key)
	if s == nil {
		return &UnknownError{Name: name, Near: near.Names(key, r.Names(), mostNear)}
	}
	return s.reset()
}

// ResetAll is Reset for every guard, those that were forgotten included. Errors
// are joined, each with its name.
func (r *Registry) ResetAll() error {
	r.unlearn()
	p := invalid.Problems{Owner: owner}
	for _, s := range r.sorted() {
		p.AddPart(s.key, s.reset())
	}
	return p.Err()
}

// reset does nothing if the guard has not been made.
func (s *slot) reset() error {
	if g := s.made.Load(); g != nil {
		return g.Reset()
	}
	return nil
}
