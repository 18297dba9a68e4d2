package flowtest

import (
	"cmp"
	"slices"
	"time"
)

// Calls are calls in the order of their arrival. It is a plain value: Calls from another source work
// too.
type Calls []Call

// where returns the calls that keep says yes to.
func (cs Calls) where(keep func(Call) bool) Calls {
	var kept Calls
	for _, c := range cs {
		if keep(c) {
			kept = append(kept, c)
		}
	}
	return kept
}

// Of returns the calls with that key.
func (cs Calls) Of(key string) Calls {
	return cs.where(func(c Call) bool { return c.Key == key })
}

// With returns the calls with that outcome.
func (cs Calls) With(o Outcome) Calls {
	return cs.where(func(c Call) bool { return c.Outcome == o })
}

// Between returns the calls that started in [from, to).
func (cs Calls) Between(from, to time.Duration) Calls {
	return cs.where(func(c Call) bool { return c.Start >= from && c.Start < to })
}

// Keys returns each key once, in the order of their first calls.
func (cs Calls) Keys() []string {
	var keys []string
	seen := map[string]bool{}
	for _, c := range cs {
		if !seen[c.Key] {
			seen[c.Key] = true
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// starts returns when each call started.
func (cs Calls) starts() []time.Duration {
	starts := make([]time.Duration, len(cs))
	for i, c := range cs {
		starts[i] = c.Start
	}
	return starts
}

// MaxIn returns the most calls in any span of that length. Calls that are exactly per apart are not in
// one.
func (cs Calls) MaxIn(per time.Duration) int {
	first, last := cs.densest(per)
	return last - first
}

// densest returns the first span of per with the most calls, as positions in
// the order of the starts.
func (cs Calls) densest(per time.Duration) (first, last int) {
	begun := cs.starts()
	slices.Sort(begun)
	from := 0
	for i, s := range begun {
		for from < i && begun[from] <= s-per {
			from++
		}
		if i+1-from > last-first {
			first, last = from, i+1
		}
	}
	return first, last
}

// MaxInFlight returns the most calls in flight at once. A call that ends as another starts is not.
func (cs Calls) MaxInFlight() int {
	most := 0
	var under Calls
	for _, c := range cs.sorted() {
		under = slices.DeleteFunc(under, func(u Call) bool { return u.Outcome != Running && u.End <= c.Start })
		under = append(under, c)
		most = max(most, len(under))
	}
	return most
}

// sorted returns the calls in the order of their starts.
func (cs Calls) sorted() Calls {
	all := slices.Clone(cs)
	slices.SortStableFunc(all, func(a, b Call) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// String is the timeline of the calls.
func (cs Calls) String() string {
	lines := make([]line, len(cs))
	for i, c := range cs {
		lines[i] = callLine(i, c)
	}
	return render(lines)
}
