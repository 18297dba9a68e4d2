package registry

import (
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/invalid"
)

// Register makes a guard from p, ignoring p.Name. A name that is taken or configured
// is an *ExistsError. A name with slashes is within those names before each slash
// that exist now, besides p.Within.
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

// GetOrCreate returns the guard of a name, or makes it from p. An existing guard keeps
// its policy.
func (r *Registry) GetOrCreate(name string, p guard.Policy) (*guard.Guard, error) {
	return r.getOrCreate(name, &recipe{policy: p})
}

func (r *Registry) getOrCreate(name string, of *recipe) (*guard.Guard, error) {
	key, err := checked(name)
	if err != nil {
		return nil, err
	}
	for {
		s, mine := r.claim(key, of)
		if s.of.template && !mine {
			r.used(s)
		}
		if g, err := r.guard(s); err == nil || mine {
			return g, err
		} // the policy of another caller was invalid
	}
}

// Replace changes the policy of a guard in place, like guard.Guard.Set, or makes the
// guard from p. If p is invalid nothing changes. Observer and Clock of p count only
// for a new guard.
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
	p.Name, p.Observer, p.Clock = "", nil, nil
	if err := g.Set(p); err != nil { // observers are called: no lock is held
		return nil, err
	}
	return g, nil
}

// Remove drops a guard, or its configuration, from the registry, and reports whether
// there was one. Callers can continue to use the guard. A new guard of that name does
// not share its limits.
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

// ResetAll calls guard.Guard.Reset for every guard. Errors are joined.
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
