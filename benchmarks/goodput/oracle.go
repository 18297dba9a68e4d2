package goodput

import (
	"math"
	"time"

	"github.com/headrace/headrace/providertest"
)

// oracle returns how many calls the provider could have admitted within the
// measured time, given its limits, their changes, and the average duration
// of its calls.
func (s *Scenario) oracle(t Times, latency time.Duration) float64 {
	most := 0.0
	for i, from := range s.starts(t) {
		factor := 1.0
		if i > 0 {
			factor = s.Phases[i-1].Factor
		}
		until := t.end()
		if i < len(s.Phases) {
			until = t.start(s.Phases[i])
		}
		most += rate(s.limits(factor), latency) * (until - from).Seconds()
	}
	return most
}

// firstMinute is the first minute of a run, or what of it comes before the end and any change of the limits.
func (s *Scenario) firstMinute(t Times) time.Duration {
	span := min(time.Minute, t.end())
	if len(s.Phases) > 0 {
		span = min(span, t.start(s.Phases[0]))
	}
	return span
}

// possible returns how many calls the provider could have admitted from its start on: a bucket is full then.
func (s *Scenario) possible(span, latency time.Duration) float64 {
	return rate(s.Limits, latency)*span.Seconds() + float64(s.Limits.Rate.Burst)
}

// starts are the beginnings of the spans of equal limits: the measured time's
// and each phase's.
func (s *Scenario) starts(t Times) []time.Duration {
	starts := []time.Duration{t.WarmUp}
	for _, p := range s.Phases {
		starts = append(starts, t.start(p))
	}
	return starts
}

// rate is how many calls per second the limits admit in the long run.
func rate(l providertest.Limits, latency time.Duration) float64 {
	most := math.Inf(1)
	if l.Rate.PerSecond > 0 {
		most = min(most, l.Rate.PerSecond)
	}
	if l.Window.Max > 0 {
		most = min(most, float64(l.Window.Max)/l.Window.Per.Seconds())
	}
	if l.Concurrency > 0 {
		most = min(most, float64(l.Concurrency)/latency.Seconds())
	}
	return most
}
