package presets

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/near"
)

// Table is a set of presets. It is immutable and safe for concurrent use. The
// zero Table is empty.
type Table struct {
	rows []*Profile // sorted by ID
}

// New returns a table of profiles made in code. Each needs an ID and, if it is of
// KindLimits, Limits; the rest has defaults. Problems are joined, each a *RowError.
func New(profiles ...Profile) (*Table, error) {
	c := checker{latest: latest(time.Now())}
	rows := make([]*Profile, len(profiles))
	for i, p := range profiles {
		rows[i] = c.profile(i+1, p)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return build(rows), nil
}

// build takes over rows, which are valid and have different IDs.
func build(rows []*Profile) *Table {
	slices.SortFunc(rows, func(a, b *Profile) int { return cmp.Compare(a.ID, b.ID) })
	return &Table{rows}
}

// With returns a new table with the rows of others added, in their order. A row
// replaces the one with the same ID, and stays Main if that one was.
func (t *Table) With(others ...*Table) *Table {
	rows := map[ID]*Profile{}
	for _, from := range append([]*Table{t}, others...) {
		if from == nil {
			continue
		}
		for _, p := range from.rows {
			if old := rows[p.ID]; old != nil {
				own := *p
				own.Main = p.Main || old.Main
				p = &own
			}
			rows[p.ID] = p
		}
	}
	return build(slices.Collect(maps.Values(rows)))
}

// Lookup finds a preset by its name, in any case. The name provider/tier, if it is not a row, refers to the tier: the lowest of
// each limit in its Main rows, with the source and date of the oldest. A tier of KindInfo rows alone is KindInfo.
//
// An unknown name is an *UnknownError, and so is a tier that has limits but no Main rows. A profile of KindUnavailable is
// returned together with an *UnavailableError.
func (t *Table) Lookup(name string) (Profile, error) {
	key := strings.ToLower(strings.TrimSpace(name))
	i, ok := slices.BinarySearchFunc(t.rows, ID(key), func(p *Profile, id ID) int { return cmp.Compare(p.ID, id) })
	if ok {
		return t.rows[i].clone(), t.rows[i].err()
	}
	provider, rest, _ := strings.Cut(key, "/")
	level, model, named := strings.Cut(rest, "/")
	of := t.of(provider, level)
	for _, p := range of { // a model with a slash in its name is also found under the whole name
		if strings.EqualFold(p.Model, model) {
			return p.clone(), p.err()
		}
	}
	if !named {
		if p, ok := tier(ID(key), of); ok {
			return p, p.err()
		}
	}
	return Profile{}, &UnknownError{Name: name, Near: t.near(key)}
}

// of returns the rows of a tier.
func (t *Table) of(provider, tier string) (rows []*Profile) {
	for _, p := range t.rows {
		if p.Provider == provider && p.Tier == tier {
			rows = append(rows, p)
		}
	}
	return rows
}

func (p Profile) err() error {
	if p.Kind == KindUnavailable {
		return &UnavailableError{ID: p.ID, notes: p.Notes}
	}
	return nil
}

// mostNear is how many names an UnknownError suggests.
const mostNear = 5

// near returns what name may have meant: the rows of a tier that needs a model,
// or else what is spelt alike, tiers first.
func (t *Table) near(name string) []ID {
	var short, long, of []ID
	for id := range t.Tiers() {
		short = append(short, id)
	}
	for _, p := range t.rows {
		to := &long
		if p.Model == "" {
			to = &short
		}
		*to = append(*to, p.ID)
		if p.Provider+"/"+p.Tier == name {
			of = append(of, p.ID)
		}
	}
	if of != nil {
		return of[:min(mostNear, len(of))]
	}
	if meant := near.Names(name, short, mostNear); meant != nil && strings.Count(name, "/") < 2 {
		return meant
	}
	return near.Names(name, slices.Concat(short, long), mostNear)
}

// All yields all rows, sorted by ID.
func (t *Table) All() iter.Seq2[ID, Profile] {
	return func(yield func(ID, Profile) bool) {
		for _, p := range t.rows {
			if !yield(p.ID, p.clone()) {
				return
			}
		}
	}
}

// Tiers yields the profile of each provider/tier that is not a row, sorted by ID.
func (t *Table) Tiers() iter.Seq2[ID, Profile] {
	return func(yield func(ID, Profile) bool) {
		tiers := map[ID][]*Profile{}
		for _, p := range t.rows {
			id := ID(p.Provider + "/" + p.Tier)
			tiers[id] = append(tiers[id], p)
		}
		for _, p := range t.rows {
			delete(tiers, p.ID)
		}
		for _, id := range slices.Sorted(maps.Keys(tiers)) {
			if p, ok := tier(id, tiers[id]); ok && !yield(id, p) {
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
