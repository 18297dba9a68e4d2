package presets

import (
	_ "embed"
	"sync"
)

// ID names a preset: provider/tier, such as openai/tier1, or provider/tier/model,
// such as openai/tier1/gpt-4o-mini. The tiers of providers that are used most have
// constants; of others write the name, such as "github/actions". Models have no
// constants, because they come and go: use ForModel, or write the name.
type ID string

// Profile looks the ID up in the default table. The errors are those of Lookup.
func (id ID) Profile() (Profile, error) { return Lookup(string(id)) }

// ForModel looks up the row of a model in the tier of id, in the default table.
// Names and errors are those of Table.ForModel.
func (id ID) ForModel(model string) (Profile, error) { return Default().ForModel(id, model) }

//go:embed facts.json
var facts string

// builtin is read on first use.
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

// Default returns the table of this package. It cannot be changed; With makes
// another one.
func Default() *Table { return builtin() }

// Lookup finds a preset in the default table; see Table.Lookup.
func Lookup(name string) (Profile, error) { return Default().Lookup(name) }
