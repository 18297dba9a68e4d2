package registry_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

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
