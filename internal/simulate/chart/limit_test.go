package chart

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
		rate     []Step
		cap      []Step
	}{
		"nothing": {},
		"a bucket that changes": {
			provider: provider.Config{Requests: provider.Bucket{PerMinute: 600}},
			changes:  []provider.Change{{At: 5, Factor: 0.5}, {At: 7, Cap: 9}, {At: 9, Factor: 2}},
			rate:     []Step{{0, 10}, {5, 5}, {9, 10}},
			cap:      []Step{{7, 9}},
		},
		"two tiers and one that headers only tell of": {
			provider: provider.Config{Requests: provider.Bucket{PerMinute: 600}, More: []provider.Quota{
				{Max: 300, Per: time.Minute}, {Max: 40, Per: 10 * time.Second, Count: provider.Exactly}, {Max: 1, Per: time.Minute, Hollow: true},
			}},
			changes: []provider.Change{{At: 5, Factor: 0.5}},
			rate:    []Step{{0, 4}, {5, 2.5}},
		},
		"a minute": {
			provider: provider.Config{Minute: 120}, changes: []provider.Change{{At: 5, Factor: 2}},
			rate: []Step{{0, 2}, {5, 4}},
		},
		"a log stays": {
			provider: provider.Config{Log: provider.Log{Max: 30, Per: 10 * time.Second}}, changes: []provider.Change{{At: 5, Factor: 2}},
			rate: []Step{{0, 3}},
		},
		"the lowest counts": {
			provider: provider.Config{Requests: provider.Bucket{PerMinute: 600}, Minute: 60, Cap: 20, Overload: 12},
			rate:     []Step{{0, 1}}, cap: []Step{{0, 12}},
		},
	} {
		s := scenario.Scenario{Setting: client.Setting{Provider: c.provider, Changes: c.changes}}
		assert.Equal(t, c.rate, rates(&s), about)
		assert.Equal(t, c.cap, caps(&s), about)
	}
}

func TestWhatACapComesTo(t *testing.T) {
	s := scenario.Scenario{Setting: client.Setting{Latency: 1900 * time.Millisecond, Net: 50 * time.Millisecond}}
	assert.Equal(t, []Step{{0, 10}, {7, 5}}, little([]Step{{0, 20}, {7, 10}}, &s))
	s.Provider.Knee = 16
	assert.Equal(t, []Step{{0, 8}}, little([]Step{{0, 64}}, &s))
}
