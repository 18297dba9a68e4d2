package presets

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Table is a set of presets. It never changes and is safe for concurrent use.
// The zero Table is empty.
type Table struct {
	rows    []Profile      // sorted by ID
	byName  map[string]int // lower case
	tiers   map[ID]Profile // those that are not rows
	tierIDs []ID           // sorted
}

// New returns a table of profiles made in code. Each needs an ID and, unless its
// Kind says otherwise, Limits; the rest has defaults. All problems are joined,
// each a *RowError.
func New(profiles ...Profile) (*Table, error) {
	c := checker{}
	rows := make([]Profile, len(profiles))
	for i, p := range profiles {
		rows[i] = p.clone()
		c.profile(i+1, &rows[i])
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return build(rows), nil
}

// build takes over rows, which are valid and have different IDs.
func build(rows []Profile) *Table {
	slices.SortFunc(rows, func(a, b Profile) int { return cmp.Compare(a.ID, b.ID) })
	t := &Table{rows: rows, byName: map[string]int{}, tiers: map[ID]Profile{}}
	for i, p := range rows {
		// A model whose name has a slash is also found under that whole name.
		t.byName[strings.ToLower(p.Provider+"/"+p.Tier+"/"+p.Model)] = i
	}
	for i, p := range rows {
		t.byName[string(p.ID)] = i
	}
	members := map[ID][]Profile{}
	for _, p := range rows {
		id := ID(p.Provider + "/" + p.Tier)
		members[id] = append(members[id], p)
	}
	for id, of := range members {
		if _, isRow := t.byName[string(id)]; isRow {
			continue
		}
		if p, ok := tier(id, of); ok {
			t.tiers[id] = p
		}
	}
	t.tierIDs = slices.Sorted(maps.Keys(t.tiers))
	return t
}

// With returns the table with the rows of others laid over it, in their order:
// a row with an ID that is there already takes its place, and tiers are
// reckoned anew.
func (t *Table) With(others ...*Table) *Table {
	rows := map[ID]Profile{}
	for _, from := range append([]*Table{t}, others...) {
		if from == nil {
			continue
		}
		for _, p := range from.rows {
			rows[p.ID] = p
		}
	}
	return build(slices.Collect(maps.Values(rows)))
}

// Lookup finds a preset, whatever the case of the name. A name provider/tier
// that is no row stands for the tier: of each kind of window, and of the
// concurrency, the least that the rows marked Main allow, with the date and
// source of the oldest of them. A tier of KindInfo rows alone is of that kind.
//
// An unknown name is an *UnknownError, and so is a tier that has limits but no
// Main rows: a model has to be named. A profile of KindUnavailable comes
// together with an *UnavailableError, so that nobody takes its empty limits for
// a permission.
func (t *Table) Lookup(name string) (Profile, error) {
	key := strings.ToLower(strings.TrimSpace(name))
	if i, ok := t.byName[key]; ok {
		return t.rows[i].clone(), t.rows[i].err()
	}
	if p, ok := t.tiers[ID(key)]; ok {
		return p.clone(), p.err()
	}
	return Profile{}, &UnknownError{Name: name, Near: t.near(key)}
}

func (p Profile) err() error {
	if p.Kind == KindUnavailable {
		return &UnavailableError{ID: p.ID, Notes: p.Notes}
	}
	return nil
}

// near returns what name may have meant: the rows of a tier that needs a model,
// or else what is spelt alike, tiers first.
func (t *Table) near(name string) []ID {
	const most = 5
	var ids []ID
	for _, p := range t.rows {
		if p.Provider+"/"+p.Tier == name && len(ids) < most {
			ids = append(ids, p.ID)
		}
	}
	if ids != nil {
		return ids
	}
	ids = slices.Clone(t.tierIDs)
	for _, p := range t.rows {
		ids = append(ids, p.ID)
	}
	return nearest(name, most, ids, idDistance)
}

// All yields the rows, sorted by ID; KindInfo and KindUnavailable too.
func (t *Table) All() iter.Seq2[ID, Profile] {
	return func(yield func(ID, Profile) bool) {
		for _, p := range t.rows {
			if !yield(p.ID, p.clone()) {
				return
			}
		}
	}
}

// Tiers yields what Lookup makes of each provider/tier that is not a row,
// sorted by ID.
func (t *Table) Tiers() iter.Seq2[ID, Profile] {
	return func(yield func(ID, Profile) bool) {
		for _, id := range t.tierIDs {
			if !yield(id, t.tiers[id].clone()) {
				return
			}
		}
	}
}

// Providers returns the names of the providers, sorted.
func (t *Table) Providers() []string {
	var names []string
	for _, p := range t.rows {
		names = append(names, p.Provider)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
