package registry

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/internal/near"
)

// recipe is what a guard is made from. It never changes.
type recipe struct {
	policy   guard.Policy
	within   []string      // names of the registry, besides those before the slashes
	template bool          // guards of it are forgotten
	idle     time.Duration // after so long
	store    string        // the address of where its limits are shared; empty: nowhere
}

// entry is a guard or a template that a Config describes.
type entry struct {
	recipe
	key string
	at  []string // the path to it

	storeAt []string // the path to its store
}

// isTemplate reports whether a key stands for any last part, and of what prefix.
func isTemplate(key string) (prefix string, yes bool) { return strings.CutSuffix(key, "/"+anyName) }

// entries returns all that c describes, the default first, and puts what is
// wrong into ps.
func (c Config) entries(ps *problems) []entry {
	all := []entry{{key: defaultName, at: []string{"default"}}}
	specs := []Spec{c.Default}
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Guards)) {
		x := entry{key: keyOf(name), at: []string{"guards", name}}
		problem := nameProblem(x.key)
		if _, yes := isTemplate(x.key); yes {
			problem = nameProblem(strings.TrimSuffix(x.key, anyName) + "x")
		}
		if taken[x.key] {
			problem = "the name " + quoted(x.key) + " occurs twice (case and surrounding space do not matter): leave one out"
		}
		if taken[x.key] = true; problem != "" {
			ps.Addf(x.at, "%s", problem)
		}
		all, specs = append(all, x), append(specs, c.Guards[name])
		if len(ps.List) > document.EnoughProblems {
			return all
		}
	}
	for i := range all {
		x, spec := &all[i], &specs[i]
		if x.key == defaultName {
			x.template = i == 0
		} else {
			_, x.template = isTemplate(x.key)
		}
		x.within = c.within(x, spec, taken, ps)
		inside := len(x.within) > 0 || outerOf(x.key, func(key string) bool { return taken[key] }) != ""
		x.policy = spec.compile(x.at, c.Presets, inside, ps)
		x.idle = spec.forget(x, ps)
		c.place(x, spec, ps)
		if len(ps.List) > document.EnoughProblems {
			return all
		}
	}
	findCycles(all, taken, ps)
	c.findStores(all, taken, ps)
	return all
}

// within returns the keys of the guards that an entry names.
func (c Config) within(x *entry, s *Spec, taken map[string]bool, ps *problems) (keys []string) {
	at := document.Below(x.at, "within")
	for _, name := range s.Within {
		key := keyOf(name)
		switch _, template := isTemplate(key); {
		case template:
			ps.Addf(at, "%s is a template: name a guard", quoted(key))
		case !taken[key]:
			ps.Addf(at, "%s is not configured: %s", quoted(key),
				document.DidYouMean(near.Names(key, guardsIn(taken), document.MostNear), "add it to guards"))
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// guardsIn returns the keys that are no templates, in order.
func guardsIn(taken map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(taken)), func(key string) bool {
		_, template := isTemplate(key)
		return template
	})
}

// outerOf returns the nearest key before a slash of key that is known, or "".
func outerOf(key string, known func(string) bool) string {
	for {
		i := strings.LastIndexByte(key, '/')
		if i < 0 {
			return ""
		}
		if key = key[:i]; known(key) {
			return key
		}
	}
}

// findCycles reports each way along which a guard is within itself.
func findCycles(all []entry, taken map[string]bool, ps *problems) {
	known := func(key string) bool { return taken[key] }
	byKey := map[string]*entry{}
	for i := range all[1:] {
		byKey[all[1+i].key] = &all[1+i]
	}
	done := map[string]bool{}
	var way []string
	var visit func(key string)
	visit = func(key string) {
		if i := slices.Index(way, key); i >= 0 {
			reportCycle(way[i:], byKey, ps)
			return
		}
		x := byKey[key]
		if done[key] || x == nil {
			return
		}
		way = append(way, key)
		for _, to := range x.within {
			visit(to)
		}
		visit(outerOf(key, known))
		way = way[:len(way)-1]
		done[key] = true
	}
	for _, x := range all[1:] {
		visit(x.key)
	}
}

// reportCycle names a cycle at an entry with a field within that is part of it.
func reportCycle(way []string, byKey map[string]*entry, ps *problems) {
	for i, key := range way {
		to := way[(i+1)%len(way)]
		if x := byKey[key]; slices.Contains(x.within, to) {
			round := append(slices.Concat(way[i:], way[:i]), key)
			ps.Addf(document.Below(x.at, "within"), "it is a cycle, %s: leave %s out", strings.Join(round, " within "), quoted(to))
			return
		}
	}
}
