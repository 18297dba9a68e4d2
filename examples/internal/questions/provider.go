package questions

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/providertest"
)

// Provider is one that does not tell its limits: a bucket of requests, and those
// of tokens that are given. A request takes its tokens at its arrival, as many as
// it might use, and what it did not use is given back with the answer.
func (s *Settings) Provider(limits providertest.Limits) providertest.Config {
	limits.Rate = providertest.Bucket{PerSecond: float64(s.RPM) / 60, Burst: max(1, s.RPM/60)}
	c := providertest.Config{
		Limits:     limits,
		RetryAfter: providertest.RetryAfterMillis,
		Latency:    providertest.LogNormal{Median: 300 * time.Millisecond, Sigma: 0.4},
		Pace:       5 * time.Millisecond,
		Seed:       1,
	}
	if s.Faults {
		c.Fault = badDay()
	}
	return c
}

// Tokens is a bucket of so many tokens a minute.
func Tokens(perMinute int) providertest.Bucket {
	return providertest.Bucket{PerSecond: float64(perMinute) / 60, Burst: max(500, perMinute/30)}
}

// badDay spoils one of ten calls, each the first time that it comes.
func badDay() func(providertest.Request) *providertest.Fault {
	var seen sync.Map // by key
	return func(r providertest.Request) *providertest.Fault {
		n, err := strconv.Atoi(strings.TrimPrefix(r.Key, keyPrefix))
		if _, again := seen.LoadOrStore(r.Key, true); again || err != nil {
			return nil
		}
		switch n % 40 {
		case 10:
			return providertest.Overloaded()
		case 20:
			return &providertest.Fault{Status: 500}
		case 30:
			return &providertest.Fault{Admit: true, Break: providertest.BreakHeader}
		case 35: // of a stream: an error between two events
			return &providertest.Fault{Admit: true, Break: providertest.BreakError}
		}
		return nil
	}
}
