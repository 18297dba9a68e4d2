package scenario

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// Scenario is a world with a name.
type Scenario struct {
	Name   string
	About  string
	Slower float64 // how many times as long as the oracle a job may take
	client.Setting
}

// Shared reports whether several processes share the quota.
func (s *Scenario) Shared() bool { return s.Processes > 1 }

// withDefaults fills in the ordinary world: a second of latency, 20 ms of net
// each way, 150 ms until a refusal, one process.
func withDefaults(s Scenario) Scenario {
	or := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	or(&s.Latency, time.Second)
	or(&s.Refusal, 150*time.Millisecond)
	or(&s.Net, 20*time.Millisecond)
	if s.Processes == 0 {
		s.Processes = 1
	}
	if s.Pool == 0 {
		s.Pool = 32
	}
	return s
}

// of makes a scenario of a provider.
func of(name, about string, p provider.Config, more ...func(*Scenario)) Scenario {
	s := Scenario{Name: name, About: about, Setting: client.Setting{Provider: p}}
	for _, m := range more {
		m(&s)
	}
	return withDefaults(s)
}

func shared(processes int) func(*Scenario) { return func(s *Scenario) { s.Processes = processes } }

// changing has changes begin so long after the warm-up.
func changing(changes ...provider.Change) func(*Scenario) {
	return func(s *Scenario) {
		for _, c := range changes {
			c.At += client.WarmUp
			s.Changes = append(s.Changes, c)
		}
	}
}

// every makes n changes d apart, the i-th of them by the i-th factor, in turns.
func every(d time.Duration, n int, factors ...float64) func(*Scenario) {
	var changes []provider.Change
	for i := range n {
		changes = append(changes, provider.Change{At: time.Duration(i+1) * d, Factor: factors[i%len(factors)]})
	}
	return changing(changes...)
}

// perMinute is a token bucket with Retry-After in whole seconds.
func perMinute(rate, burst float64) provider.Config {
	return provider.Config{Requests: provider.Bucket{PerMinute: rate, Burst: burst}, RetryAfter: provider.WholeSeconds}
}

// with alters a config.
func with(c provider.Config, alter func(*provider.Config)) provider.Config {
	alter(&c)
	return c
}
