package flowtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AtMost returns an error that shows the calls if there are more than most of
// them in any span of that length. Refused calls count too.
func (cs Calls) AtMost(most int, per time.Duration) error {
	first, last := cs.densest(per)
	if last-first <= most {
		return nil
	}
	return fmt.Errorf("flowtest: %d calls within %s, at most %d should be\n%s",
		last-first, per, most, abridge(cs.sorted()[first:last].String()))
}

// AtMostInFlight returns an error if more than most calls were under way at the same time.
func (cs Calls) AtMostInFlight(most int) error {
	if n := cs.MaxInFlight(); n > most {
		return fmt.Errorf("flowtest: %d calls in flight, at most %d should be\n%s", n, most, abridge(cs.String()))
	}
	return nil
}

// Quiet returns an error that shows the calls that started after from and
// before to, neither included.
func (cs Calls) Quiet(from, to time.Duration) error {
	loud := cs.Between(from+1, to)
	if len(loud) == 0 {
		return nil
	}
	return fmt.Errorf("flowtest: %d calls between +%s and +%s, none should be\n%s",
		len(loud), from, to, abridge(loud.String()))
}

// HeedRetryAfter returns an error for each refusal that said when to come back
// and after which the provider was called before that time, about whatever key.
// A call in the instant of the refusal does not count: it cannot know.
func (cs Calls) HeedRetryAfter() error {
	var errs []error
	for _, refusal := range cs {
		if refusal.Outcome != Refused || refusal.RetryAfter == 0 {
			continue
		}
		same := cs.Where(func(c Call) bool { return c.Provider == refusal.Provider })
		if err := same.Quiet(refusal.End, refusal.End+refusal.RetryAfter); err != nil {
			errs = append(errs, fmt.Errorf("%w\nafter a refusal at +%s: %v", err, refusal.End, refusal))
		}
	}
	return errors.Join(errs...)
}

// OnceEach returns an error that names the keys that were not answered with what
// they asked for, or more than once, and other keys that were called. Attempts
// that were refused or failed are no matter.
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
