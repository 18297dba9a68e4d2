package registry_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/registry"
)

// A service with nothing but hosts has no limiter of its own: the others have the default.
func TestForOfAServiceThatHasHostsOnly(t *testing.T) {
	c, err := registry.ParseJSON([]byte(`{"default": {"limits": "1/s"}, "services": {
		"ols":   {"hosts": {"www.ebi.ac.uk": {"limits": "4/s"}}},
		"crawl": {"hosts": {"*": {"limits": "5/s"}}},
		"own":   {"law": "measured", "hosts": {"a.org": {"limits": "6/s"}}},
		"none":  {"hosts": {}}
	}}`))
	require.NoError(t, err)
	r := newRegistry(t, c)
	assert.Equal(t, []string{"none", "ols/www.ebi.ac.uk", "own", "own/a.org"}, r.Names())
	for at, want := range map[[2]string]string{
		{"ols", "www.ebi.ac.uk"}: "4/s", {"ols", "other"}: "1/s", {"ols", ""}: "1/s",
		{"crawl", "any"}: "5/s", {"crawl", ""}: "1/s",
		{"own", "a.org"}: "6/s", {"own", "b.org"}: "unlimited", {"none", "any"}: "unlimited",
	} {
		assert.Equal(t, want, r.For(at[0], at[1]).Stats().Limits.String(), "%v", at)
	}
	assert.Same(t, r.For("ols", "x"), r.For("ols", "y"))
	_, err = registry.New(registry.Config{Services: map[string]registry.Service{
		"OLS": {Hosts: map[string]registry.Spec{"a": {}}}, "ols": {Hosts: map[string]registry.Spec{"b": {}}},
	}})
	assert.ErrorContains(t, err, "comes twice", "its name is taken all the same")
}

// A host comes from anywhere, and its name goes into logs.
func TestForTidiesWhatCannotBeAName(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	l := r.For("evil\n2026 ERROR", "\x1b[31m\xff")
	assert.Equal(t, "evil�2026 error", l.Name())
	assert.Same(t, l, r.For(l.Name(), ""))
	for _, long := range []string{strings.Repeat("h", 1<<20), strings.Repeat("ü", 1<<10), strings.Repeat("\xff", 1<<10)} {
		l := r.For(long, long)
		assert.LessOrEqual(t, len(l.Name()), 256)
		assert.Same(t, l, r.For(l.Name(), ""))
		assert.Same(t, l, r.Get(l.Name()))
	}
}
