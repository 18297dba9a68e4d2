package scenario

import (
	"slices"
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
)

// Step is a limit from a moment on.
type Step struct {
	At    time.Duration
	Limit float64
}

// Rates returns the calls per second that the provider of s admits in the long
// run, from each of its changes on. Limits on tokens are not among them.
func (s *Scenario) Rates() []Step {
	p := &s.Provider
	factor := 1.0
	return s.steps(func(c provider.Change) float64 {
		if c.Factor > 0 {
			factor *= c.Factor
		}
		all := []float64{factor * p.Requests.PerMinute / 60, factor * float64(p.Minute) / 60}
		for _, q := range slices.Concat(p.More, []provider.Quota{{Max: p.Log.Max, Per: max(p.Log.Per, 1), Count: provider.Exactly}}) {
			switch rate := float64(q.Max) / q.Per.Seconds(); {
			case q.Hollow:
			case q.Count == provider.Exactly: // no change reaches a log
				all = append(all, rate)
			default:
				all = append(all, factor*rate)
			}
		}
		return lowest(all...)
	})
}

// Caps returns the calls that may be in flight, from each change on.
func (s *Scenario) Caps() []Step {
	most, overload := float64(s.Provider.Cap), float64(s.Provider.Overload)
	return s.steps(func(c provider.Change) float64 {
		if c.Cap > 0 {
			most = float64(c.Cap)
		}
		return lowest(most, overload)
	})
}

// CapRates returns the calls per second that Caps come to: by Little's law, as
// many as are in flight over how long each of them is. Beyond a knee more in
// flight only take longer.
func (s *Scenario) CapRates() []Step {
	trip := (s.Latency + 2*s.Net).Seconds()
	all := s.Caps()
	for i, c := range all {
		all[i].Limit = lowest(c.Limit, float64(s.Provider.Knee)) / trip
	}
	return all
}

// steps has after return the limit after each change of s, the first of which
// changes nothing.
func (s *Scenario) steps(after func(provider.Change) float64) (all []Step) {
	for _, c := range append([]provider.Change{{}}, s.Changes...) {
		limit := after(c)
		if limit > 0 && (len(all) == 0 || all[len(all)-1].Limit != limit) {
			all = append(all, Step{c.At, limit})
		}
	}
	return all
}

// lowest is the lowest of those that are there.
func lowest(limits ...float64) (l float64) {
	for _, x := range limits {
		if x > 0 && (l == 0 || x < l) {
			l = x
		}
	}
	return l
}
