package decide

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// mostBlocked bounds the number of limits with counted refusals.
const mostBlocked = 1000

// Blocked is how often a limit has refused a check, at the most.
type Blocked struct {
	Scope, Identifier, Resource string
	Refused                     int64
}

// blocked counts the limits that refuse most, by the Space-Saving algorithm (Metwally,
// Agrawal, El Abbadi 2005): a limit that is not among those that are counted replaces the
// one with the lowest count, and goes on from it.
type blocked struct {
	mu     sync.Mutex // guards counts
	counts map[string]int64
}

func (b *blocked) add(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counts == nil {
		b.counts = map[string]int64{}
	}
	if _, ok := b.counts[key]; !ok && len(b.counts) >= mostBlocked {
		low, least := "", int64(0)
		for k, n := range b.counts {
			if low == "" || n < least {
				low, least = k, n
			}
		}
		delete(b.counts, low)
		b.counts[key] = least
	}
	b.counts[key]++
}

// Blocked returns the n limits that have refused most, the first first.
func (d *Decider) Blocked(n int) []Blocked {
	d.blocked.mu.Lock()
	counts := maps.Clone(d.blocked.counts)
	d.blocked.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	all := []Blocked{}
	for _, key := range keys[:min(n, len(keys))] {
		if scope, identifier, resource, ok := SplitKey(key); ok {
			all = append(all, Blocked{scope, identifier, resource, counts[key]})
		}
	}
	return all
}
