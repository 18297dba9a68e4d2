package registry

import (
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/near"
)

// Register makes a limiter of c under a name that is free. Its Name is the
// registry's name, whatever c says. A name that is taken, by the configuration
// as well, is an *ExistsError; the other errors are those of adaptive.New. The
// name "service/host" makes the limiter of one host for For.
func (r *Registry) Register(name string, c adaptive.Config) (*adaptive.Limiter, error) {
	key, err := checked(name)
	if err != nil {
		return nil, err
	}
	s, mine := r.claim(key, c)
	if !mine {
		return nil, &ExistsError{Name: key}
	}
	return r.limiter(s)
}

// GetOrCreate returns the limiter of that name, whatever its configuration, or
// makes it of c. Of several at a time one makes it and the others wait; its law
// starts once.
func (r *Registry) GetOrCreate(name string, c adaptive.Config) (*adaptive.Limiter, error) {
	key, err := checked(name)
	if err != nil {
		return nil, err
	}
	for {
		s, mine := r.claim(key, c)
		if l, err := r.limiter(s); err == nil || mine {
			return l, err
		} // that was the error of somebody else's c
	}
}

// Replace gives the limiter of that name the configuration c in place, as
// adaptive.Limiter.Reconfigure says: nobody who waits is dropped, whoever has the
// limiter goes on with it, and a law that is configured as before keeps what it
// has learnt. If there is none of that name, it is made. An error changes nothing.
func (r *Registry) Replace(name string, c adaptive.Config) (*adaptive.Limiter, error) {
	key, err := checked(name)
	if err != nil {
		return nil, err
	}
	for {
		s, mine := r.claim(key, c)
		if l, err := r.replace(s, mine, c); err != errGone { //nolint:errorlint // it is not wrapped
			return l, err
		}
	}
}

func (r *Registry) replace(s *slot, mine bool, c adaptive.Config) (*adaptive.Limiter, error) {
	l, made, err := r.orMake(s, c, mine)
	if err != nil || made {
		return l, err
	}
	c.Name = "" // an observer hears of it: no lock is held
	if err := l.Reconfigure(c); err != nil {
		return nil, err
	}
	return l, nil
}

// Remove takes the limiter of that name, or its configuration, out of the
// registry, and reports whether there was one. Who has the limiter keeps it, and
// calls that wait go on; the next one of that name is another limiter, which
// knows nothing of it: together they let twice as much through. To change
// limits use Replace.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := keyOf(name)
	_, ok := r.slots[key]
	if ok {
		delete(r.slots, key)
		r.changes.Add(1)
	}
	return ok
}

// Reset starts the law and the statistics of a limiter anew, as
// adaptive.Limiter.Reset does. An unknown name is an *UnknownError.
func (r *Registry) Reset(name string) error {
	key := keyOf(name)
	s := r.find(key)
	if s == nil {
		return &UnknownError{Name: name, Near: near.Names(key, r.Names(), mostNear)}
	}
	return s.reset()
}

// ResetAll is Reset for every limiter. Errors are joined, each with its name.
func (r *Registry) ResetAll() error {
	p := invalid.Problems{Owner: owner}
	for _, s := range r.sorted() {
		p.AddPart(s.key, s.reset())
	}
	return p.Err()
}

// reset does nothing to a limiter that has not been made.
func (s *slot) reset() error {
	if l := s.limiter.Load(); l != nil {
		return l.Reset()
	}
	return nil
}
