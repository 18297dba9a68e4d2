package registry

import (
	"cmp"
	"slices"
	"time"

	"github.com/headrace/headrace/throttle"
)

// Stats is a snapshot of all guards that are in the registry now. Each is read
// at an instant of its own.
type Stats struct {
	Total Total
	Keys  []KeyStats // in the order of their names; one that was not made yet is zero
}

// KeyStats is the snapshot of one guard.
type KeyStats struct {
	Name string
	throttle.Stats
	Hits int64 // rate-limit responses that the guard has learned from; a Reset or another law begins anew
	Cuts int64 // times its law lowered the calls in flight, likewise
}

// Total is the sum over all guards.
type Total struct {
	Keys        int // how many there are
	Closed      int // closed by Close or by a used-up quota
	InFlight    int
	Waiting     int
	Admitted    int64
	Refused     int64
	Abandoned   int64
	Waits       int64
	Waited      time.Duration
	LongestWait time.Duration // the longest of all
	Hits        int64
	Cuts        int64
}

// Stats returns a snapshot. It makes no guard.
func (r *Registry) Stats() Stats {
	var s Stats
	for _, of := range r.sorted() {
		k := KeyStats{Name: of.key}
		if g := of.made.Load(); g != nil {
			now := g.Stats()
			k.Stats = now.Stats
			if g.Learner() == g { // else they are those of another guard
				k.Hits, k.Cuts = now.View.Hits, now.View.Cuts
			}
		}
		s.Keys = append(s.Keys, k)
		s.Total.add(&k)
	}
	return s
}

func (t *Total) add(k *KeyStats) {
	t.Keys++
	if k.Closed != nil {
		t.Closed++
	}
	t.InFlight += k.InFlight
	t.Waiting += k.Waiting
	t.Admitted += k.Admitted
	t.Refused += k.Refused
	t.Abandoned += k.Abandoned
	t.Waits += k.Waits
	t.Waited += k.Waited
	t.LongestWait = max(t.LongestWait, k.LongestWait)
	t.Hits += k.Hits
	t.Cuts += k.Cuts
}

// Blocking returns the guards that hold callers back, at most n of them, the
// worst first: those with the most callers waiting now and, among equals, those
// that made callers wait longest in sum. Bound says what it is that holds back.
// Guards without waits are left out.
func (s Stats) Blocking(n int) []KeyStats {
	blocking := slices.DeleteFunc(slices.Clone(s.Keys), func(k KeyStats) bool { return k.Waiting == 0 && k.Waited == 0 })
	slices.SortStableFunc(blocking, func(a, b KeyStats) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Waited, a.Waited))
	})
	return blocking[:min(max(0, n), len(blocking))]
}
