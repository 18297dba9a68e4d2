package goodput

import (
	"math"
	"time"

	"github.com/headrace/headrace/providertest"
)

// Scenario is a provider and its callers.
type Scenario struct {
	Name       string
	About      string
	Limits     providertest.Limits
	RetryAfter providertest.RetryAfter
	Latency    time.Duration // mean, of an admitted call
	Processes  int           // clients that know nothing of each other; 0 means 1
	Phases     []Phase       // in order; none: the limits stay
}

// Phase changes the limits while they are measured.
type Phase struct {
	From   float64 // share of the measured time, from 0 to below 1
	Factor float64 // of the limits at the start; a bucket's burst stays as it is
}

// Times are those of a run, in whole seconds.
type Times struct {
	WarmUp   time.Duration // from the start of the provider, not counted
	Measured time.Duration // after that
}

// latencySpread is the deviation of a latency's logarithm, the simulator's.
const latencySpread = 0.6

// Scenarios returns those of the page. The limits are per second, so that a
// law meets within a minute what it meets within an hour of a limit per minute.
func Scenarios() []Scenario {
	const latency = 250 * time.Millisecond
	perSecond := func(rate float64, burst int) providertest.Limits {
		return providertest.Limits{Rate: providertest.Bucket{PerSecond: rate, Burst: burst}}
	}
	return []Scenario{
		{
			Name: "token bucket", About: "20 per second, burst 10, Retry-After in whole seconds",
			Limits: perSecond(20, 10), RetryAfter: providertest.RetryAfterSeconds, Latency: latency,
		},
		{
			Name: "cap", About: "10 in flight, no Retry-After",
			Limits: providertest.Limits{Concurrency: 10}, Latency: latency,
		},
		{
			Name: "fixed window", About: "100 in each 5 s, Retry-After in whole seconds",
			Limits:     providertest.Limits{Window: providertest.FixedWindow{Max: 100, Per: 5 * time.Second}},
			RetryAfter: providertest.RetryAfterSeconds, Latency: latency,
		},
		{
			Name: "4 processes", About: "four that know nothing of each other share 40 per second, burst 10, Retry-After in whole seconds",
			Limits: perSecond(40, 10), RetryAfter: providertest.RetryAfterSeconds, Latency: latency, Processes: 4,
		},
		{
			Name: "halved", About: "the token bucket at 10 per second in the second third of the measured time",
			Limits: perSecond(20, 10), RetryAfter: providertest.RetryAfterSeconds, Latency: latency,
			Phases: []Phase{{From: 1. / 3, Factor: 0.5}, {From: 2. / 3, Factor: 1}},
		},
		{
			Name: "fast bucket", About: "50 per second, burst 10, Retry-After in whole seconds",
			Limits: perSecond(50, 10), RetryAfter: providertest.RetryAfterSeconds, Latency: latency,
		},
	}
}

// processes returns how many clients there are.
func (s *Scenario) processes() int { return max(1, s.Processes) }

// latency is what the provider draws from; its mean is Latency.
func (s *Scenario) latency() providertest.LogNormal {
	median := float64(s.Latency) * math.Exp(-latencySpread*latencySpread/2)
	return providertest.LogNormal{Median: time.Duration(median), Sigma: latencySpread}
}

// limits are those of a phase.
func (s *Scenario) limits(factor float64) providertest.Limits {
	l := s.Limits
	scale := func(n *int) { *n = int(math.Round(float64(*n) * factor)) }
	scale(&l.Concurrency)
	scale(&l.Window.Max)
	l.Rate.PerSecond *= factor
	return l
}

// start is when a phase begins, counted from the start of the provider.
func (t Times) start(p Phase) time.Duration {
	return t.WarmUp + time.Duration(p.From*float64(t.Measured)).Round(time.Millisecond)
}

// end is when a run ends, counted likewise.
func (t Times) end() time.Duration { return t.WarmUp + t.Measured }
