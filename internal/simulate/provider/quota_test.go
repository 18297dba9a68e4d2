package provider_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/provider"
)

// admits plays arrivals against c. A negative wait is an admission.
func admits(t *testing.T, c provider.Config, arrivals map[time.Duration][]time.Duration, order ...time.Duration) {
	t.Helper()
	p := provider.New(c, nil)
	for _, at := range order {
		for i, wait := range arrivals[at] {
			a, _ := p.Arrive(at, 0)
			assert.Equal(t, wait < 0, a.Admitted, "call %d at %s", i, at)
			assert.Equal(t, max(0, wait), a.RetryAfter, "call %d at %s", i, at)
		}
	}
}

func TestQuotas(t *testing.T) {
	const yes = -1 * sec
	exact := func(more ...provider.Quota) provider.Config {
		return provider.Config{RetryAfter: provider.Exact, More: more}
	}
	for about, c := range map[string]struct {
		config   provider.Config
		arrivals map[time.Duration][]time.Duration
		order    []time.Duration
	}{
		"a window of the clock turns when it is said to": {
			exact(provider.Quota{Max: 2, Per: 10 * sec, Turn: 3 * sec}),
			map[time.Duration][]time.Duration{
				sec: {yes, yes, 2 * sec}, 3 * sec: {yes, yes, 10 * sec}, 12 * sec: {sec}, 33 * sec: {yes},
			},
			[]time.Duration{sec, 3 * sec, 12 * sec, 33 * sec},
		},
		"a window begins with its first call": {
			exact(provider.Quota{Max: 2, Per: 10 * sec, Count: provider.FirstCall}),
			map[time.Duration][]time.Duration{
				4 * sec: {yes}, 9 * sec: {yes, 5 * sec}, 14 * sec: {}, 20 * sec: {yes, yes, 10 * sec}, 29 * sec: {sec}, 30 * sec: {yes},
			},
			[]time.Duration{4 * sec, 9 * sec, 14 * sec, 20 * sec, 29 * sec, 30 * sec},
		},
		"a bucket refills without a stop": {
			exact(provider.Quota{Max: 2, Per: 10 * sec, Count: provider.Refilled}),
			map[time.Duration][]time.Duration{0: {yes, yes, 5 * sec}, 5 * sec: {yes, 5 * sec}, 100 * sec: {yes, yes, 5 * sec}},
			[]time.Duration{0, 5 * sec, 100 * sec},
		},
		"and may hold less than its quota": {
			exact(provider.Quota{Max: 2, Per: 10 * sec, Count: provider.Refilled, Burst: 1}),
			map[time.Duration][]time.Duration{0: {yes, 5 * sec}, 100 * sec: {yes, 5 * sec}},
			[]time.Duration{0, 100 * sec},
		},
		"a log forgets call by call": {
			exact(provider.Quota{Max: 2, Per: 10 * sec, Count: provider.Exactly}),
			map[time.Duration][]time.Duration{0: {yes}, 4 * sec: {yes, 6 * sec}, 10 * sec: {yes, 4 * sec}},
			[]time.Duration{0, 4 * sec, 10 * sec},
		},
		"of two tiers the longer wait counts": {
			exact(provider.Quota{Max: 1, Per: sec}, provider.Quota{Max: 2, Per: 10 * sec}),
			map[time.Duration][]time.Duration{0: {yes, sec}, sec: {yes, 9 * sec}, 10 * sec: {yes}},
			[]time.Duration{0, sec, 10 * sec},
		},
		"a hollow quota rejects no call": {
			exact(provider.Quota{Max: 1, Per: sec, Hollow: true}),
			map[time.Duration][]time.Duration{0: {yes, yes, yes}},
			[]time.Duration{0},
		},
	} {
		t.Run(about, func(t *testing.T) { admits(t, c.config, c.arrivals, c.order...) })
	}
}

// Headers describe the quota that is shown, else the fixed minute, else the
// bucket, else the first quota.
func TestWhichQuotaHeadersDescribe(t *testing.T) {
	bucket := provider.Bucket{PerMinute: 600, Burst: 10}
	hourly := provider.Quota{Max: 100, Per: time.Hour}
	shown := hourly
	shown.Shown = true
	of := func(limit, remaining int64, reset time.Duration) provider.Meter {
		return provider.Meter{Known: true, Limit: limit, Remaining: remaining, Reset: reset}
	}
	for about, c := range map[string]struct {
		config provider.Config
		want   provider.Meter
	}{
		"the bucket":            {provider.Config{Requests: bucket, More: []provider.Quota{hourly}}, of(600, 9, 100*ms)},
		"the minute":            {provider.Config{Requests: bucket, Minute: 60, More: []provider.Quota{hourly}}, of(60, 59, time.Minute)},
		"what is shown":         {provider.Config{Requests: bucket, Minute: 60, More: []provider.Quota{shown}}, of(100, 99, time.Hour)},
		"the first quota":       {provider.Config{More: []provider.Quota{hourly, {Max: 7, Per: sec}}}, of(100, 99, time.Hour)},
		"a bucket's own time":   {provider.Config{More: []provider.Quota{{Max: 40, Per: 20 * sec, Count: provider.Refilled}}}, of(40, 39, 500*ms)},
		"nothing":               {provider.Config{Requests: bucket, Tale: provider.Tale{Absent: true}}, provider.Meter{}},
		"a tenth of the limit":  {provider.Config{Requests: bucket, Tale: provider.Tale{Limit: 0.1}}, of(60, 9, 100*ms)},
		"at least a limit of 1": {provider.Config{Requests: bucket, Tale: provider.Tale{Limit: 1e-9}}, of(1, 9, 100*ms)},
		"more than remains":     {provider.Config{Requests: bucket, Tale: provider.Tale{Remaining: 10}}, of(600, 90, 100*ms)},
		"a reset rounded up":    {provider.Config{Requests: bucket, Tale: provider.Tale{Whole: true}}, of(600, 9, sec)},
	} {
		t.Run(about, func(t *testing.T) {
			c.config.Headers = true
			a, _ := provider.New(c.config, nil).Arrive(0, 0)
			assert.Equal(t, c.want, a.Requests)
		})
	}
	tokens := provider.Config{Tokens: provider.Bucket{PerMinute: 60_000, Burst: 30_000}, Tale: provider.Tale{Round: 1000}, Headers: true}
	a, _ := provider.New(tokens, nil).Arrive(0, 1600)
	assert.Equal(t, int64(28_000), a.Tokens.Remaining, "28,400, rounded to thousands")
}

// Changes multiply what is refilled and what is counted in windows, not a log.
func TestChangesOfQuotas(t *testing.T) {
	p := provider.New(provider.Config{More: []provider.Quota{{Max: 20, Per: sec}}}, nil)
	p.Apply(0, provider.Change{Factor: 0.5})
	assert.Equal(t, 10, admittedOf(p, 50))
	p = provider.New(provider.Config{More: []provider.Quota{{Max: 20, Per: sec, Count: provider.Exactly}}}, nil)
	p.Apply(0, provider.Change{Factor: 0.5})
	assert.Equal(t, 20, admittedOf(p, 50))
}
