package presets

import (
	"cmp"
	"slices"
	"strings"
)

// longestName is beyond any name that was meant.
const longestName = 200

// nearest returns the candidates that name may have meant, at most so many, the
// nearest first.
func nearest[S ~string](name string, most int, candidates []S, distance func(name string, c S) int) []S {
	type scored struct {
		id    S
		score int
	}
	if len(name) > longestName {
		return nil
	}
	var found []scored
	for _, c := range candidates {
		if d := distance(name, c); d <= tolerance(name) {
			found = append(found, scored{c, d})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var ids []S
	for _, f := range found[:min(most, len(found))] {
		ids = append(ids, f.id)
	}
	return ids
}

// tolerance is how many slips a name of that length may have.
func tolerance(name string) int { return min(max(1, len(name)/4), 4) }

func spelling[S ~string](name string, c S) int { return edits(name, string(c)) }

// idDistance compares a name with an id as a whole, and with its parts: a name
// may be a provider or a model alone, or lack the tier.
func idDistance(name string, id ID) int {
	best := edits(name, string(id))
	asked := strings.Split(name, "/")
	parts := strings.SplitN(string(id), "/", 3)
	provider, model := parts[0], ""
	if len(parts) == 3 {
		model = parts[2]
	}
	switch {
	case len(asked) == 1 && model == "":
		best = min(best, edits(name, provider))
	case len(asked) == 1:
		best = min(best, edits(name, model))
	case model != "":
		best = min(best, edits(asked[0], provider)+edits(asked[len(asked)-1], model)+1)
	}
	return best
}

// edits is how many letters have to be put in, left out, changed or swapped
// with their neighbour.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
