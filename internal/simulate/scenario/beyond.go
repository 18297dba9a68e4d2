package scenario

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
)

// Beyond returns the scenarios beyond the twelve.
func Beyond() []Scenario {
	return append(strange(), narrow()...)
}

// strange providers refuse at random, lie, count otherwise, or change.
func strange() []Scenario {
	limit := perMinute(600, 10)
	noisy := func(c provider.Config, share float64) provider.Config {
		c.Errors = []provider.Errors{{Share: share}}
		return c
	}
	silent := func(c provider.Config) provider.Config {
		c.RetryAfter = provider.Silent
		return c
	}
	return []Scenario{
		of("noise 2%", "600/min burst 10, and 2 % refused at random without Retry-After", noisy(limit, 0.02)),
		of("noise 2% silent", "the same without any Retry-After", noisy(silent(limit), 0.02)),
		of("noise 5%", "600/min burst 10, and 5 % refused at random", noisy(limit, 0.05)),
		of("noise 5% b60", "600/min burst 60, and 5 % refused at random", noisy(perMinute(600, 60), 0.05)),
		of("noise .5% fast", "3,600/min burst 10, and 0.5 % refused at random with Retry-After 1", provider.Config{
			Requests: provider.Bucket{PerMinute: 3600, Burst: 10}, RetryAfter: provider.WholeSeconds,
			Errors: []provider.Errors{{Manner: provider.Manner{After: time.Second}, Share: 0.005}},
		}),
		of("Retry-After /3", "600 in each minute of the clock, Retry-After a third of the truth",
			provider.Config{Minute: 600, RetryAfter: provider.Exact, Lie: 0.33}),
		of("Retry-After x5", "600/min burst 10, Retry-After five times too long",
			with(limit, func(c *provider.Config) { c.Lie = 5 })),
		of("sliding 60 s", "an exact sliding log, 600 in 60 s",
			provider.Config{Log: provider.Log{Max: 600, Per: time.Minute}, RetryAfter: provider.WholeSeconds}),
		of("sliding 10 s", "an exact sliding log, 100 in 10 s, no Retry-After",
			provider.Config{Log: provider.Log{Max: 100, Per: 10 * time.Second}}),
		of("sliding 1 s", "an exact sliding log, 30 in 1 s, no Retry-After",
			provider.Config{Log: provider.Log{Max: 30, Per: time.Second}}),
		of("minute silent", "600 in each minute of the clock, no Retry-After", provider.Config{Minute: 600}),
		of("long silent", "240/min burst 4 without Retry-After, calls of 8 s", silent(perMinute(240, 4)),
			func(s *Scenario) { s.Latency = 8 * time.Second }),
		of("on-off 30 s", "600/min burst 60, demand comes and goes every 30 s", perMinute(600, 60),
			func(s *Scenario) { s.OnOff = 30 * time.Second }),
		of("knee", "latency grows beyond 16 in flight, refusals beyond 64", provider.Config{Knee: 16, Overload: 64}),
		of("ramp", "600/min burst 10, 10 % more each minute for ten minutes", limit, every(time.Minute, 10, 1.1)),
		of("restless", "2,400/min with a second's burst and no Retry-After, another limit every 16 s", perSecond(40),
			fast, every(16*time.Second, 74, 1.3, 0.6, 1.282, 0.7, 1.429)),
		of("flap", "600/min burst 10 whose rate halves and doubles every 90 s", limit, every(90*time.Second, 12, 0.5, 2)),
	}
}

// narrow providers leave little room.
func narrow() []Scenario {
	return []Scenario{
		of("3000/min b5", "a fast limit with a small burst", perMinute(3000, 5)),
		of("1/s b1 by 2", "two processes share one call per second, burst 1", perMinute(60, 1), shared(2)),
		of("1/s b1 by 4", "four processes share it", perMinute(60, 1), shared(4)),
		of("100/s b20 by 4", "four processes share 6,000/min burst 20", perMinute(6000, 20), shared(4)),
		of("cap unnamed", "a cap of 20 beside 6,000/min burst 100; headers name only the latter",
			with(perMinute(6000, 100), func(c *provider.Config) { c.Cap, c.Names = 20, provider.Nothing })),
	}
}

// perSecond is a token bucket that holds a second of its rate and never says when.
func perSecond(rate float64) provider.Config {
	return provider.Config{Requests: provider.Bucket{PerMinute: 60 * rate, Burst: rate}}
}

// fast are answers of a server that is near.
func fast(s *Scenario) {
	s.Latency, s.Refusal, s.Net = 200*time.Millisecond, 10*time.Millisecond, time.Millisecond
}
