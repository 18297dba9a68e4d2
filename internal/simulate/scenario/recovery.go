package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

const (
	historyLasts  = 20 * minute
	recoveryLasts = 30 * minute // the default law keeps no estimate for longer unless it is confirmed
	ordinaryRate  = 10          // calls per second, at most
	ordinaryBurst = 10          // calls
	ordinaryCap   = 20
)

// Recovery returns the i-th scenario of recovery, always the same for the same i. After twenty minutes, the i-th harsher
// provider becomes an ordinary one: a bucket of ten calls, a fixed minute or a cap of 20. The minutes 30 to 60 after that are measured.
// Whatever a law has concluded from the provider before, it has to have found out by then that this does not hold any more. There is
// one process.
func Recovery(i int) Scenario {
	d := dice{world.NewChance(uint64(i), 0x4a47), i} //nolint:gosec // any bits will do
	s := Harsher(i)
	s.About = strings.TrimSuffix(s.About, fmt.Sprintf(", %d processes", s.Processes))
	s.Processes = 1
	s.Changes = slices.DeleteFunc(s.Changes, func(c provider.Change) bool { return c.At >= client.WarmUp+historyLasts })
	ordinary, about := d.ordinary(min(ordinaryRate, mostNeeded/s.Latency.Seconds()))
	changing(provider.Change{At: historyLasts, Become: &ordinary})(&s)
	s.Unmeasured, s.Lasts = historyLasts+recoveryLasts, recoveryLasts
	s.Name = fmt.Sprintf("r%d", i)
	s.About = fmt.Sprintf("%s, then %s", s.About, about)
	return s
}

// ordinary draws a provider with one limit, of so many calls per second if it is a rate.
func (d dice) ordinary(rate float64) (p provider.Config, about string) {
	told := pick(d, provider.Silent, provider.WholeSeconds, provider.Exact)
	switch pick(d, "bucket", "bucket", "minute", "cap") {
	case "bucket":
		p.Requests, about = provider.Bucket{PerMinute: 60 * rate, Burst: ordinaryBurst}, fmt.Sprintf("%.3g/s b%d", rate, ordinaryBurst)
	case "minute":
		p.Minute = int(60 * rate)
		about = fmt.Sprintf("%d in each minute", p.Minute)
	default:
		p.Cap = ordinaryCap
		return p, fmt.Sprintf("cap %d", p.Cap)
	}
	p.RetryAfter = told
	return p, about + ", Retry-After " + retryAfter(told)
}

// retryAfter is the name of a kind of Retry-After.
func retryAfter(r provider.RetryAfter) string {
	return [...]string{"absent", "whole", "exact", "in half"}[r]
}
