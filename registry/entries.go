package registry

import (
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/headrace/headrace/guard"
)

// entry is one limiter, or template, that a Config describes.
type entry struct {
	key           string
	service, host string // host is empty for the service itself
	policy        guard.Policy
}

// entries yields all that c describes, in order, and puts what is wrong into ps.
func (c Config) entries(ps *problems) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		put := func(x entry, s *Spec, at []string) bool {
			x.policy = s.compile(at, c.presets, ps)
			return yield(x)
		}
		if !put(entry{key: defaultName}, &c.Default, []string{"default"}) {
			return
		}
		taken := map[string]bool{}
		for _, name := range slices.Sorted(maps.Keys(c.Services)) {
			at, service := []string{"services", name}, c.Services[name]
			key := keyOf(name)
			claim(taken, key, at, ps)
			hostsOnly := len(service.Hosts) > 0 && reflect.ValueOf(service.Spec).IsZero()
			if !hostsOnly && !put(entry{key: key, service: key}, &service.Spec, at) {
				return
			}
			for _, name := range slices.Sorted(maps.Keys(service.Hosts)) {
				spec, at := service.Hosts[name], below(at, "hosts", name)
				host := hostOf(name)
				if host == "" {
					ps.addf(at, "the host is empty: name it as a URL does, or write * for all others")
				} else if host != anyHost || taken[join(key, host)] {
					claim(taken, join(key, host), at, ps)
				}
				taken[join(key, host)] = true
				if !put(entry{key: join(key, host), service: key, host: host}, &spec, at) {
					return
				}
			}
		}
	}
}

// claim finds out what is wrong with a key, or that there are two of it.
func claim(taken map[string]bool, key string, at []string, ps *problems) {
	if problem := nameProblem(key); problem != "" && !taken[key] {
		ps.addf(at, "%s", problem)
	} else if taken[key] {
		ps.addf(at, "the name %q comes twice: case and space around it do not matter, so leave one out", clip(key))
	}
	taken[key] = true
}
