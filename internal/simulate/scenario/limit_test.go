package scenario_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

func TestLimits(t *testing.T) {
	for about, c := range map[string]struct {
		provider provider.Config
		changes  []provider.Change
		rate     []scenario.Step
		cap      []scenario.Step
	}{
		"nothing": {},
		"a bucket that changes": {
			provider: provider.Config{Requests: provider.Bucket{PerMinute: 600}},
			changes:  []provider.Change{{At: 5, Factor: 0.5}, {At: 7, Cap: 9}, {At: 9, Factor: 2}},
			rate:     []scenario.Step{{At: 0, Limit: 10}, {At: 5, Limit: 5}, {At: 9, Limit: 10}},
			cap:      []scenario.Step{{At: 7, Limit: 9}},
		},
		"two tiers and one that headers only tell of": {
			provider: provider.Config{Requests: provider.Bucket{PerMinute: 600}, More: []provider.Quota{
				{Max: 300, Per: time.Minute}, {Max: 40, Per: 10 * time.Second, Count: provider.Exactly}, {Max: 1, Per: time.Minute, Hollow: true},
			}},
			changes: []provider.Change{{At: 5, Factor: 0.5}},
			rate:    []scenario.Step{{At: 0, Limit: 4}, {At: 5, Limit: 2.5}},
		},
		"a minute": {
			provider: provider.Config{Minute: 120}, changes: []provider.Change{{At: 5, Factor: 2}},
			rate: []scenario.Step{{At: 0, Limit: 2}, {At: 5, Limit: 4}},
		},
		"a log stays": {
			provider: provider.Config{Log: provider.Log{Max: 30, Per: 10 * time.Second}}, changes: []provider.Change{{At: 5, Factor: 2}},
			rate: []scenario.Step{{At: 0, Limit: 3}},
		},
		"another provider": {
			provider: provider.Config{Requests: provider.Bucket{PerMinute: 600}, Overload: 12},
			changes:  []provider.Change{{At: 5, Factor: 0.5}, {At: 7, Become: &provider.Config{Requests: provider.Bucket{PerMinute: 60}, Cap: 9}}},
			rate:     []scenario.Step{{At: 0, Limit: 10}, {At: 5, Limit: 5}, {At: 7, Limit: 1}},
			cap:      []scenario.Step{{At: 0, Limit: 12}, {At: 7, Limit: 9}},
		},
		"the lowest counts": {
			provider: provider.Config{Requests: provider.Bucket{PerMinute: 600}, Minute: 60, Cap: 20, Overload: 12},
			rate:     []scenario.Step{{At: 0, Limit: 1}}, cap: []scenario.Step{{At: 0, Limit: 12}},
		},
	} {
		s := scenario.Scenario{Setting: client.Setting{Provider: c.provider, Changes: c.changes}}
		assert.Equal(t, c.rate, s.Rates(), about)
		assert.Equal(t, c.cap, s.Caps(), about)
	}
}

func TestWhatACapComesTo(t *testing.T) {
	s := scenario.Scenario{Setting: client.Setting{Latency: 1900 * time.Millisecond, Net: 50 * time.Millisecond}}
	s.Provider.Cap, s.Changes = 20, []provider.Change{{At: 7, Cap: 10}}
	assert.Equal(t, []scenario.Step{{At: 0, Limit: 10}, {At: 7, Limit: 5}}, s.CapRates())
	s.Provider.Cap, s.Provider.Knee, s.Changes = 64, 16, nil
	assert.Equal(t, []scenario.Step{{At: 0, Limit: 8}}, s.CapRates())
}
