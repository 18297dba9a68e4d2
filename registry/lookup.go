package registry

import (
	"iter"
	"strings"

	"github.com/headrace/headrace/guard"
)

// Get returns the guard of that name, or nil if it is neither configured,
// registered nor in use.
func (r *Registry) Get(name string) *guard.Guard {
	s := r.find(keyOf(name))
	if s == nil {
		return nil
	}
	g, _ := r.guard(s) // nil if it is being registered with an invalid policy: that caller gets the error
	return g
}

// For returns the guard for a path, such as For("crawl", host) or For("api",
// tenant, user). It is never nil, but the first of these that there is:
//
//  1. the guard of that name, the parts of the path with slashes between them;
//  2. one made from the template beside it, such as "crawl/*";
//  3. the guard for the path without its last part;
//  4. one made from Config.Default, named like the first part.
//
// A guard that was made from a template or the default leaves the registry when
// it was idle for Spec.Idle. What it has learned is kept, and For returns the
// same guard again if anything still holds it.
//
// A path of one part is a whole name, slashes included; of several parts each
// counts as one, whatever it contains. Empty parts are skipped. Case, space
// around a part, and the dot at the end of a host do not matter. Of each part
// 256 bytes count.
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

// Lookup is For without its last step: it returns nil where For would use
// Config.Default.
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

// Generation counts the guards that came and went: while it is the same, what
// For, Lookup and Get have returned is what they would return again. Ask for it
// before them. Replace and Reset, which change a guard in place, do not count.
func (r *Registry) Generation() uint64 { return r.changes.Load() }

// known finds the slot for a path, or makes one from a template; nil if the
// path is unknown.
func (r *Registry) known(path []string) *slot {
	for n := len(path); n > 0; n-- {
		key := strings.Join(path[:n], "/")
		if s := r.find(key); s != nil {
			return s
		}
		if n == 1 {
			break
		}
		if t := r.templates[key[:len(key)-len(path[n-1])-1]]; t != nil {
			s, _ := r.claim(key, t)
			return s
		}
	}
	return nil
}

// Exists reports whether Get has a guard of that name.
func (r *Registry) Exists(name string) bool { return r.find(keyOf(name)) != nil }

// Names returns all names in order: of the guards that were made, and of those
// that are configured.
func (r *Registry) Names() []string {
	all := r.sorted()
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.key
	}
	return names
}

// All yields the guards in the order of their names, as Names would return them
// now, and makes those that were not asked for yet. One that is removed during
// the iteration may still be yielded.
func (r *Registry) All() iter.Seq2[string, *guard.Guard] {
	return func(yield func(string, *guard.Guard) bool) {
		for _, s := range r.sorted() {
			if g, err := r.guard(s); err == nil && !yield(s.key, g) {
				return
			}
		}
	}
}
