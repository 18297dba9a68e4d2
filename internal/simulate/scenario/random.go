package scenario

import (
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// changeAt is when a random provider changes, after the warm-up.
const changeAt = 400 * time.Second

// mostNeeded bounds the calls in flight that a random rate needs, by Little's law.
const mostNeeded = 120

// usualTokens is a little more than a call uses on average.
const usualTokens = 1250

// dice draws the provider of one number.
type dice struct {
	world.Chance
	number int
}

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// Random returns the i-th random scenario, always the same for the same i: a
// latency of 0.3 to 15 s, a refusal after 0.05 to 0.6 s, 5 to 100 ms of net,
// and one process, or two or four that share. The provider has a cap of 4 to
// 100, or a rate of 0.5 to 60 per second as a bucket, a fixed minute, with
// tokens, or with refusals that count, and a burst of 1 to 60 s of the rate. A
// third of the providers changes once.
func Random(i int) Scenario {
	d := dice{world.NewChance(uint64(i), 0x5eed), i} //nolint:gosec // any bits will do
	var s Scenario
	s.Latency = d.seconds(0.3, 15)
	s.Refusal = d.seconds(0.05, 0.6)
	s.Net = d.seconds(0.005, 0.1)
	s.Processes = pick(d, 1, 1, 1, 2, 4)
	kind := pick(d, "cap", "rpm", "rpm", "minute", "tpm", "counting")
	told := pick(d, provider.Silent, provider.WholeSeconds, provider.WholeSeconds, provider.Exact)
	factor := 1.0
	if d.IntN(3) == 0 {
		factor = pick(d, 0.25, 0.5, 2, 4)
	}
	var about string
	if kind == "cap" {
		about = d.limitCalls(&s, factor)
	} else {
		about = d.limitRate(&s, kind, factor)
		s.Provider.RetryAfter = told
		about += " Retry-After " + retryAfter(told)
	}
	s.Name = fmt.Sprintf("#%d", i)
	s.About = fmt.Sprintf("%s, latency %.1f s, refusal %.2f s, net %.0f ms, %d processes",
		about, s.Latency.Seconds(), s.Refusal.Seconds(), 1e3*s.Net.Seconds(), s.Processes)
	return withDefaults(s)
}

func (d dice) seconds(low, high float64) time.Duration {
	return time.Duration(d.LogUniform(low, high) * float64(time.Second))
}

// limitCalls makes it a cap.
func (d dice) limitCalls(s *Scenario, factor float64) string {
	limit := max(s.Processes*2, int(math.Round(d.LogUniform(4, 100))))
	factor = min(factor, 2)
	then := max(s.Processes, int(min(150, float64(limit)*factor)))
	s.Provider.Cap = limit
	s.Changes = []provider.Change{{At: client.WarmUp + changeAt, Cap: then}}
	return fmt.Sprintf("cap %d then %d", limit, then)
}

// limitRate makes it a rate of some kind.
func (d dice) limitRate(s *Scenario, kind string, factor float64) string {
	rate := min(mostNeeded/s.Latency.Seconds()/max(1, factor), d.LogUniform(0.5, 60))
	burst := max(1, math.Round(rate*d.LogUniform(1, 60)))
	switch kind {
	case "minute":
		s.Provider.Minute = int(max(10, rate*60))
	case "tpm":
		s.Tokens = true
		s.Provider.Requests = provider.Bucket{PerMinute: rate * 60 * 1.3, Burst: burst}
		s.Provider.Tokens = provider.Bucket{PerMinute: rate * 60 * usualTokens, Burst: max(24_000, usualTokens*burst)}
	default:
		s.Provider.Requests = provider.Bucket{PerMinute: rate * 60, Burst: burst}
		s.Provider.RefusalsCount, s.Provider.Debt = kind == "counting", 6*rate
	}
	if factor != 1 {
		s.Changes = []provider.Change{{At: client.WarmUp + changeAt, Factor: factor}}
	}
	return fmt.Sprintf("%s %.2f/s burst %.0f x%.2g", kind, rate, burst, factor)
}
