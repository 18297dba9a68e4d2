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
		if c.Become != nil {
			p, factor = c.Become, 1
		}
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
	return s.caps(func(*provider.Config) int { return 0 })
}

// caps returns the same, and no more than a provider has for other.
func (s *Scenario) caps(other func(*provider.Config) int) []Step {
	p := &s.Provider
	most := p.Cap
	return s.steps(func(c provider.Change) float64 {
		if c.Become != nil {
			p, most = c.Become, c.Become.Cap
		}
		if c.Cap > 0 {
			most = c.Cap
		}
		return lowest(float64(most), float64(p.Overload), float64(other(p)))
	})
}

// CapRates returns the calls per second that Caps come to: by Little's law, as
// many as are in flight over how long each of them is. Beyond a knee more in
// flight only take longer.
func (s *Scenario) CapRates() []Step {
	trip := (s.Latency + 2*s.Net).Seconds()
	all := s.caps(func(p *provider.Config) int { return p.Knee })
	for i := range all {
		all[i].Limit /= trip
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
