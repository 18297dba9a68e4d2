package flowtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AtMost returns an error with the calls if any span of that length has more than most. Rejected calls
// count.
func (cs Calls) AtMost(most int, per time.Duration) error {
	first, last := cs.densest(per)
	if last-first <= most {
		return nil
	}
	return fmt.Errorf("flowtest: %d calls within %s, at most %d should be\n%s",
		last-first, per, most, abridge(cs.sorted()[first:last].String()))
}

// AtMostInFlight returns an error if more than most calls were in flight at once.
func (cs Calls) AtMostInFlight(most int) error {
	if n := cs.MaxInFlight(); n > most {
		return fmt.Errorf("flowtest: %d calls in flight, at most %d should be\n%s", n, most, abridge(cs.String()))
	}
	return nil
}

// Quiet returns an error with the calls that started between from and to, both excluded.
func (cs Calls) Quiet(from, to time.Duration) error {
	loud := cs.Between(from+1, to)
	if len(loud) == 0 {
		return nil
	}
	return fmt.Errorf("flowtest: %d calls between +%s and +%s, none should be\n%s",
		len(loud), from, to, abridge(loud.String()))
}

// HeedRetryAfter returns an error for each Retry-After that a later call to the provider, for any key,
// did not wait for. Calls in the instant of the response do not count.
func (cs Calls) HeedRetryAfter() error {
	var errs []error
	for _, refusal := range cs {
		if refusal.Outcome != Refused || refusal.RetryAfter == 0 {
			continue
		}
		same := cs.where(func(c Call) bool { return c.Provider == refusal.Provider })
		if err := same.Quiet(refusal.End, refusal.End+refusal.RetryAfter); err != nil {
			errs = append(errs, fmt.Errorf("%w\nafter a refusal at +%s: %v", err, refusal.End, refusal))
		}
	}
	return errors.Join(errs...)
}

// OnceEach returns an error that names the keys that were not answered exactly once, and other keys
// that were called. Failed and rejected attempts are ignored.
func (cs Calls) OnceEach(keys ...string) error {
	answered := map[string]int{}
	for _, c := range cs.With(Answered) {
		answered[c.Key]++
	}
	var problems []string
	complain := func(what string, keys []string) {
		if len(keys) > 0 {
			problems = append(problems, what+": "+strings.Join(keys, ", "))
		}
	}
	var none, twice []string
	for i, key := range keys {
		switch n := answered[key]; {
		case slices.Contains(keys[:i], key):
		case n == 0:
			none = append(none, key)
		case n > 1:
			twice = append(twice, fmt.Sprintf("%s (%d times)", key, n))
		}
	}
	complain("never answered", none)
	complain("answered again", twice)
	complain("not expected", slices.DeleteFunc(cs.Keys(), func(key string) bool { return slices.Contains(keys, key) }))
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("flowtest: %s\n%s", strings.Join(problems, "; "), abridge(cs.String()))
}
