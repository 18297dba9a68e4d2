package presets

import (
	_ "embed"
	"iter"
	"sync"
)

// ID names a preset: provider/tier/model, such as openai/tier1/gpt-4o-mini, or
// provider/tier for all models of a tier. There are constants for tiers and for
// the main models; any other row of the table is found by its name.
type ID string

// Profile is Lookup for a constant.
func (id ID) Profile() (Profile, error) { return Lookup(string(id)) }

//go:embed facts.json
var facts string

// builtin is read by whoever asks first.
//
//nolint:gochecknoglobals // a cache of embedded data that never changes
var builtin = sync.OnceValue(func() *Table {
	c := checker{text: facts}
	t, err := c.table()
	if err != nil {
		panic(err) // the tests read the same bytes
	}
	return t
})

// Default returns the table that comes with this package. It cannot be changed:
// With makes another one.
func Default() *Table { return builtin() }

// Lookup is Default().Lookup.
func Lookup(name string) (Profile, error) { return Default().Lookup(name) }

// All is Default().All.
func All() iter.Seq2[ID, Profile] { return Default().All() }

// Providers is Default().Providers.
func Providers() []string { return Default().Providers() }
