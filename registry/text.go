package registry

import (
	"maps"
	"slices"

	"github.com/headrace/headrace/throttle"
)

// Parse reads the limits of services in the form of throttle.ParseKeyedLimits:
//
//	default: 1/s; ols: 4/s; bioportal: 2/s, 100/min; "ncbi/eutils.ncbi.nlm.nih.gov": 3/s
//
// The key default is Config.Default, one with a slash a host of its own. Problems
// of the text are those of ParseKeyedLimits, with offsets; those of names are
// *FieldErrors. All are joined.
func Parse(text string) (Config, error) {
	keyed, err := throttle.ParseKeyedLimits(text)
	if err != nil {
		return Config{}, err
	}
	c, templates := Config{Services: map[string]Service{}}, 0
	var ps problems
	for _, name := range slices.Sorted(maps.Keys(keyed)) {
		spec := Spec{Limits: keyed[name]}
		if keyOf(name) != defaultName {
			c.Services[name] = Service{Spec: spec}
			continue
		}
		c.Default = spec
		if templates++; templates == 2 {
			ps.addf([]string{defaultName}, "the name %q comes twice: case and space around it do not matter, so leave one out", defaultName)
		}
	}
	for range c.entries(&ps) {
		continue
	}
	if err := ps.err(); err != nil {
		return Config{}, err
	}
	return c, nil
}
