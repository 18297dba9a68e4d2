package registry

import (
	"cmp"
	"slices"
	"strings"
)

// near returns the two candidates, at most, that a misspelt name may have meant.
func near(name string, candidates []string) []string {
	name = keyOf(name)
	if len(name) > longestName {
		return nil
	}
	tolerance := max(1, len(name)/3)
	slips := map[string]int{}
	for _, c := range candidates {
		if n := edits([]rune(name), []rune(strings.ToLower(c))); n <= tolerance {
			slips[c] = n
		}
	}
	found := make([]string, 0, len(slips))
	for c := range slips {
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(slips[a], slips[b]), cmp.Compare(a, b)) })
	return found[:min(2, len(found))]
}

// edits is how many letters have to be put in, taken out or changed to make b of a.
func edits(a, b []rune) int {
	last, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
		}
		last, row = row, last
	}
	return last[len(b)]
}
