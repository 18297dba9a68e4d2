package registry

import (
	"cmp"
	"slices"

	"github.com/headrace/headrace/guard"
)

// Stats is a snapshot of all guards. Each is read at its own instant.
type Stats struct {
	Total KeyStats   // the sums of what is counted, and the longest wait; all else is empty
	Keys  []KeyStats // sorted by name; all zero before first use
}

// KeyStats is a snapshot of one guard.
type KeyStats struct {
	Name string
	guard.Stats
	Hits int64 // rate-limit responses since the controller started
	Cuts int64 // decreases of the concurrency limit since then
}

// Stats returns a snapshot, without making guards.
func (r *Registry) Stats() Stats {
	var s Stats
	for _, of := range r.sorted() {
		k := KeyStats{Name: of.key}
		if g := of.made.Load(); g != nil {
			k.Stats = g.Stats()
			if g.Learner() == g { // else they are those of another guard
				k.Hits, k.Cuts = k.View.Hits, k.View.Cuts
			}
		}
		s.Keys = append(s.Keys, k)
		s.Total.add(&k)
	}
	return s
}

func (t *KeyStats) add(k *KeyStats) {
	t.InFlight += k.InFlight
	t.Waiting += k.Waiting
	t.Admitted += k.Admitted
	t.Refused += k.Refused
	t.Abandoned += k.Abandoned
	t.Waits += k.Waits
	t.Waited += k.Waited
	t.LongestWait = max(t.LongestWait, k.LongestWait)
	t.StoreErrors += k.StoreErrors
	t.Hits += k.Hits
	t.Cuts += k.Cuts
}

// Blocking returns up to n guards that make callers wait, the worst first: by the
// callers waiting now, then by Waited. Bound is what holds them back.
func (s Stats) Blocking(n int) []KeyStats {
	blocking := slices.DeleteFunc(slices.Clone(s.Keys), func(k KeyStats) bool { return k.Waiting == 0 && k.Waited == 0 })
	slices.SortStableFunc(blocking, func(a, b KeyStats) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Waited, a.Waited))
	})
	return blocking[:min(max(0, n), len(blocking))]
}
