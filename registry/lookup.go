package registry

import (
	"iter"

	"github.com/headrace/headrace/guard"
)

// Get returns the limiter of that name, or nil if nobody has configured,
// registered or created it. One that is configured is made at its first Get.
func (r *Registry) Get(name string) *guard.Guard {
	s := r.find(keyOf(name))
	if s == nil {
		return nil
	}
	l, _ := r.guard(s) // nil if it is being registered with what cannot be used: that caller gets the error
	return l
}

// For returns the limiter for the calls of a service to a host, and is never
// nil. It is the first of these that there is:
//
//  1. the host's own, named "service/host": configured in Service.Hosts or
//     registered under that name;
//  2. one made of the entry "*" in Service.Hosts, for this host alone;
//  3. the service's, named "service", which all of its other hosts share; a
//     configured service that has Hosts and nothing else has none;
//  4. one made of Config.Default and named like the service: each service that
//     nobody has configured gets one for all of its other hosts.
//
// The default is thus a template: services that nobody has configured do not
// share a limiter. Without a service the host is taken for one, and without
// either the limiter is "default". What was made is found by its name from then
// on. It stays until Remove, and with the law Measured a limiter takes about 27 kB:
// who calls any number of hosts should remove those that he has done with.
//
// Host is what a URL names, with its port if it has one. Case, space around, and
// the last dot of a host do not matter. Of a service and a host 256 bytes each
// count, and � stands for what cannot be printed.
func (r *Registry) For(service, host string) *guard.Guard {
	service, host = tidy(keyOf(service)), tidy(hostOf(host))
	if service == "" {
		service, host = host, ""
	}
	if service == "" {
		service = defaultName
	}
	for {
		if l, err := r.guard(r.route(service, host)); err == nil {
			return l
		} // what somebody registered a moment ago cannot be used, and is gone; the templates can
	}
}

// Lookup is For without its last step: it returns nil where nobody has
// configured or registered the service, nor the host for it. Without a service or a host there is nothing to find.
func (r *Registry) Lookup(service, host string) *guard.Guard {
	service, host = tidy(keyOf(service)), tidy(hostOf(host))
	if service == "" || host == "" {
		return nil
	}
	for {
		s := r.known(service, host)
		if s == nil {
			return nil
		}
		if l, err := r.guard(s); err == nil {
			return l
		} // as in For
	}
}

// Generation counts the limiters that came and went: while it is the same,
// what For, Lookup and Get have returned is what they would return again. Ask
// for it before them. What Replace and Reset do to a limiter in its place does not count.
func (r *Registry) Generation() uint64 { return r.changes.Load() }

// route finds the slot that For describes, or makes one of a template.
func (r *Registry) route(service, host string) *slot {
	if host != "" {
		if s := r.known(service, host); s != nil {
			return s
		}
	}
	s, _ := r.claim(service, r.template)
	return s
}

// known finds the slot of a host, or makes it of the template of its service, or
// finds that of the service; or nil.
func (r *Registry) known(service, host string) *slot {
	own := join(service, host)
	if s := r.find(own); s != nil {
		return s
	}
	if c, ok := r.hosts[service]; ok {
		s, _ := r.claim(own, c)
		return s
	}
	return r.find(service)
}

// Exists reports whether Get has a limiter of that name.
func (r *Registry) Exists(name string) bool { return r.find(keyOf(name)) != nil }

// Names returns all names in order: of the limiters that were made, and of
// those that are configured.
func (r *Registry) Names() []string {
	all := r.sorted()
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.key
	}
	return names
}

// All yields the limiters in the order of their names, as Names would return
// them now, and makes those that nobody has asked for yet. One that is removed
// on the way may still come.
func (r *Registry) All() iter.Seq2[string, *guard.Guard] {
	return func(yield func(string, *guard.Guard) bool) {
		for _, s := range r.sorted() {
			if l, err := r.guard(s); err == nil && !yield(s.key, l) {
				return
			}
		}
	}
}
