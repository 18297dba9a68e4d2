package registry

import (
	"iter"
	"strings"

	"github.com/headrace/headrace/guard"
)

// Get returns the guard of a name, or nil if it is not configured, registered or in
// use. Calls on a nil guard return an error and are not made.
func (r *Registry) Get(name string) *guard.Guard {
	s := r.find(keyOf(name))
	if s == nil {
		return nil
	}
	g, _ := r.guard(s) // nil if it is being registered with an invalid policy: that caller gets the error
	return g
}

// For returns the guard for a path, such as For("crawl", host), and never nil. It is
// the first of these:
//
//  1. the guard of that name, the parts joined by slashes;
//  2. one made from the template beside it, such as "crawl/*";
//  3. the guard for the path without its last part;
//  4. one made from Config.Default, named like the first part.
//
// A guard made from a template or the default leaves the registry when it was idle
// for Spec.Idle; what it has learned is kept. A path of one part may contain slashes;
// in longer paths slashes do not separate. Empty parts are skipped. 256 bytes of each
// part count.
func (r *Registry) For(path ...string) *guard.Guard {
	parts := pathOf(path)
	if len(parts) == 0 {
		parts = []string{defaultName}
	}
	for {
		s := r.known(parts)
		if s == nil {
			s, _ = r.claim(parts[0], &r.fallback)
		}
		if g := r.use(s); g != nil {
			return g
		} // it was registered a moment ago with an invalid policy, and is gone
	}
}

// Lookup is For without Config.Default: it returns nil instead.
func (r *Registry) Lookup(path ...string) *guard.Guard {
	for parts := pathOf(path); ; {
		s := r.known(parts)
		if s == nil {
			return nil
		}
		if g := r.use(s); g != nil {
			return g
		} // as in For
	}
}

// use returns the guard of s for a call, or nil if it could not be made.
func (r *Registry) use(s *slot) *guard.Guard {
	g, err := r.guard(s)
	if err != nil {
		return nil
	}
	if s.of.template {
		r.used(s)
	}
	return g
}

// Generation changes when a guard is added or removed. While it has the value that it
// had before a call of For, Lookup or Get, that call would return the same guard.
func (r *Registry) Generation() uint64 { return r.changes.Load() }

// known finds the slot for a path, or makes one from a template; nil if the
// path is unknown.
func (r *Registry) known(path []string) *slot {
	for n := len(path); n > 0; n-- {
		key, last := strings.Join(path[:n], "/"), path[n-1]
		if last == "" {
			key, last = key+emptyPart, emptyPart
		}
		if s := r.find(key); s != nil {
			return s
		}
		if n == 1 {
			break
		}
		if t := r.templates[key[:len(key)-len(last)-1]]; t != nil {
			s, _ := r.claim(key, t)
			return s
		}
	}
	return nil
}

// Names returns the names of all guards, made or configured, sorted.
func (r *Registry) Names() []string {
	all := r.sorted()
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.key
	}
	return names
}

// All yields all guards, sorted by name, and makes those that are only configured. It
// may yield a guard that is removed during the iteration.
func (r *Registry) All() iter.Seq2[string, *guard.Guard] {
	return func(yield func(string, *guard.Guard) bool) {
		for _, s := range r.sorted() {
			if g, err := r.guard(s); err == nil && !yield(s.key, g) {
				return
			}
		}
	}
}
