package flowtest

import (
	"cmp"
	"slices"
	"time"
)

// Calls are calls in the order of their arrival. It is a plain value: put your
// own together to judge calls that something else has noted.
type Calls []Call

// Where returns the calls that keep says yes to.
func (cs Calls) Where(keep func(Call) bool) Calls {
	var kept Calls
	for _, c := range cs {
		if keep(c) {
			kept = append(kept, c)
		}
	}
	return kept
}

// Of returns the calls about that key.
func (cs Calls) Of(key string) Calls {
	return cs.Where(func(c Call) bool { return c.Key == key })
}

// With returns the calls that came out so.
func (cs Calls) With(o Outcome) Calls {
	return cs.Where(func(c Call) bool { return c.Outcome == o })
}

// Between returns the calls that started at from or later, and before to.
func (cs Calls) Between(from, to time.Duration) Calls {
	return cs.Where(func(c Call) bool { return c.Start >= from && c.Start < to })
}

// Keys returns the keys, each once, in the order of their first call.
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

// Starts returns when each call started.
func (cs Calls) Starts() []time.Duration {
	starts := make([]time.Duration, len(cs))
	for i, c := range cs {
		starts[i] = c.Start
	}
	return starts
}

// Gaps returns the times between the starts of neighbouring calls: one less than there are calls.
func (cs Calls) Gaps() []time.Duration {
	starts := cs.Starts()
	slices.Sort(starts)
	var gaps []time.Duration
	for i := 1; i < len(starts); i++ {
		gaps = append(gaps, starts[i]-starts[i-1])
	}
	return gaps
}

// MaxIn returns how many calls there are at most in any span of that length,
// whatever came of them. Of two calls that are per apart, one is in.
func (cs Calls) MaxIn(per time.Duration) int {
	first, last := cs.densest(per)
	return last - first
}

// densest returns the first span of per with the most calls, as positions in
// the order of the starts.
func (cs Calls) densest(per time.Duration) (first, last int) {
	starts := cs.Starts()
	slices.Sort(starts)
	from := 0
	for i, s := range starts {
		for from < i && starts[from] <= s-per {
			from++
		}
		if i+1-from > last-first {
			first, last = from, i+1
		}
	}
	return first, last
}

// MaxInFlight returns how many calls were under way at most at the same time. A call
// that ends in the instant in which another one starts is not.
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
