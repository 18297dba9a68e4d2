package goodput

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

func TestTheOracle(t *testing.T) {
	const latency = 200 * time.Millisecond
	bucket := providertest.Bucket{PerSecond: 20, Burst: 10}
	window := providertest.FixedWindow{Max: 100, Per: 5 * time.Second}
	times := Times{WarmUp: 30 * time.Second, Measured: 90 * time.Second}
	for about, c := range map[string]struct {
		limits providertest.Limits
		phases []Phase
		want   float64
	}{
		"a rate":                   {providertest.Limits{Rate: bucket}, nil, 20 * 90},
		"a window":                 {providertest.Limits{Window: window}, nil, 100 * 18},
		"a cap":                    {providertest.Limits{Concurrency: 10}, nil, 10 / 0.2 * 90},
		"the tightest counts":      {providertest.Limits{Concurrency: 3, Rate: bucket, Window: window}, nil, 15 * 90},
		"the window is it":         {providertest.Limits{Rate: bucket, Window: providertest.FixedWindow{Max: 50, Per: 5 * time.Second}}, nil, 10 * 90},
		"halved in the middle":     {providertest.Limits{Rate: bucket}, []Phase{{1. / 3, 0.5}, {2. / 3, 1}}, 20*30 + 10*30 + 20*30},
		"halved for good":          {providertest.Limits{Concurrency: 10}, []Phase{{0.5, 0.5}}, 50*45 + 25*45},
		"from the first moment":    {providertest.Limits{Window: window}, []Phase{{0, 0.5}}, 10 * 90},
		"a tighter one takes over": {providertest.Limits{Concurrency: 5, Rate: bucket}, []Phase{{0.5, 2}}, 20*45 + 40*45},
	} {
		t.Run(about, func(t *testing.T) {
			s := Scenario{Limits: c.limits, Phases: c.phases}
			assert.InDelta(t, c.want, s.oracle(times, latency), 1e-6)
		})
	}
}

// A changed limit leaves alone what it does not scale, and what is not there.
func TestLimitsOfAPhase(t *testing.T) {
	bucket := providertest.Bucket{PerSecond: 20, Burst: 20}
	for about, c := range map[string]struct{ before, after providertest.Limits }{
		"nothing": {},
		"all": {
			providertest.Limits{Concurrency: 9, Window: providertest.FixedWindow{Max: 100, Per: time.Minute}},
			providertest.Limits{Concurrency: 5, Window: providertest.FixedWindow{Max: 50, Per: time.Minute}},
		},
		"the burst stays": {
			providertest.Limits{Rate: bucket},
			providertest.Limits{Rate: providertest.Bucket{PerSecond: 10, Burst: 20}},
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := Scenario{Limits: c.before}
			assert.Equal(t, c.after, s.limits(0.5))
		})
	}
}

// Every scenario can be played: its limits at all times, and its latency.
func TestTheScenarios(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Scenarios() {
		assert.False(t, names[s.Name])
		names[s.Name] = true
		for _, factor := range append([]Phase{{0, 1}}, s.Phases...) {
			server, err := providertest.New(providertest.Config{Limits: s.limits(factor.Factor), Latency: s.latency()})
			require.NoError(t, err)
			server.Close()
		}
	}
}

// The first minute ends where the run or the first phase does, and begins with a full bucket.
func TestTheFirstMinute(t *testing.T) {
	bucket := Scenario{Limits: providertest.Limits{Rate: providertest.Bucket{PerSecond: 20, Burst: 10}}}
	halved := bucket
	halved.Phases = []Phase{{From: 0.5, Factor: 0.5}}
	assert.Equal(t, time.Minute, bucket.firstMinute(Full()))
	assert.Equal(t, 20*time.Second, bucket.firstMinute(Times{WarmUp: 5 * time.Second, Measured: 15 * time.Second}))
	assert.Equal(t, 15*time.Second, halved.firstMinute(Times{WarmUp: 5 * time.Second, Measured: 20 * time.Second}))
	assert.InDelta(t, 1210, bucket.possible(time.Minute, time.Second), 1e-9)
}
