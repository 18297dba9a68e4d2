package registry_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/registry"
)

// A host comes from anywhere, and its name goes into logs.
func TestForTidiesWhatCannotBeAName(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	l := r.For("evil\n2026 ERROR", "\x1b[31m\xff")
	assert.Equal(t, "evil�2026 error", l.Name())
	assert.Same(t, l, r.For(l.Name()))
	for _, long := range []string{strings.Repeat("h", 1<<20), strings.Repeat("ü", 1<<10), strings.Repeat("\xff", 1<<10)} {
		l := r.For(long, long)
		assert.LessOrEqual(t, len(l.Name()), 256)
		assert.Same(t, l, r.For(l.Name()))
		assert.Same(t, l, r.Get(l.Name()))
	}
}

// A name may be a URL, and the limits of its template hold below it.
func TestForFindsAURL(t *testing.T) {
	const url = "http://localhost:8080"
	c, err := registry.Parse(`"` + url + `": 1/s; "` + url + `/*": 2/s; users/*: 3/s; default: 4/s`)
	require.NoError(t, err)
	r := newRegistry(t, c)
	assert.Equal(t, url, r.For(url).Name())
	assert.Same(t, r.Get(url), r.For(url))
	assert.Equal(t, url+"/x", r.For(url+"/x").Name())
	assert.Same(t, r.For(url, "x"), r.For(url+"/x"))
	assert.Same(t, r.For("users", "https://id.org/7"), r.For("users/https://id.org/7"))
	for _, path := range [][]string{{"users/"}, {"users//"}, {"users//7"}, {"users", ""}, {"users", "", "7"}} {
		assert.Equal(t, "users/(empty)", r.For(path...).Name(), path)
	}
}
