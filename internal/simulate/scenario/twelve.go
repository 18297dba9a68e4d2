package scenario

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
)

// Twelve returns the scenarios of the main table.
func Twelve() []Scenario {
	const minutes = time.Minute
	limit := perMinute(600, 10)
	twenty := provider.Config{Cap: 20}
	return []Scenario{
		of("cap 20", "20 in flight, no Retry-After", twenty),
		of("600/min b10", "a token bucket of burst 10, Retry-After in whole seconds", limit),
		of("600/min b60", "the same with burst 60", perMinute(600, 60)),
		of("no Retry-After", "600/min burst 10 that never says when",
			with(limit, func(c *provider.Config) { c.RetryAfter = provider.Silent })),
		of("fixed minute", "600 in each minute of the clock",
			provider.Config{Minute: 600, RetryAfter: provider.WholeSeconds}),
		of("RPM + TPM", "600/min burst 10 and 600,000 tokens/min burst 60,000, reserved and settled",
			with(limit, func(c *provider.Config) { c.Tokens = provider.Bucket{PerMinute: 600_000, Burst: 60_000} }),
			func(s *Scenario) { s.Tokens = true }),
		of("rate /2 x2", "600/min burst 10, halved after 5 minutes, doubled after 10", limit,
			changing(provider.Change{At: 5 * minutes, Factor: 0.5}, provider.Change{At: 10 * minutes, Factor: 2})),
		of("cap /2 x2", "a cap of 20, then 10, then 20", twenty,
			changing(provider.Change{At: 5 * minutes, Cap: 10}, provider.Change{At: 10 * minutes, Cap: 20})),
		of("refusals count", "600/min burst 10, and refusals drain it too, to -60",
			with(limit, func(c *provider.Config) { c.RefusalsCount, c.Debt = true, 60 })),
		of("4 share rate", "four processes share 600/min burst 10", limit, shared(4)),
		of("4 share cap", "four processes share a cap of 20", twenty, shared(4)),
		of("latency 8 s", "600/min burst 10, which needs 80 in flight", limit,
			func(s *Scenario) { s.Latency, s.Pool = 8*time.Second, 128 }),
	}
}

// Quick returns those of the first minute: limits a second, which the controller has to learn within a few calls.
func Quick() []Scenario {
	quick := func(s *Scenario) { s.Latency, s.Lasts = 250*time.Millisecond, time.Minute }
	return []Scenario{
		of("20/s b10", "a token bucket of burst 10, Retry-After in whole seconds", perMinute(1200, 10), quick),
		of("50/s b10", "the same at 50 a second", perMinute(3000, 10), quick),
	}
}
