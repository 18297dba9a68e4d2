package scenario_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

func TestFamilies(t *testing.T) {
	names, numbers, members := map[string]bool{}, map[string]bool{}, 0
	for _, f := range scenario.Families() {
		number := f.Name[:3]
		assert.False(t, numbers[number], "%s is there twice", number)
		numbers[number] = true
		assert.GreaterOrEqual(t, len(f.Members), 4, f.Name)
		for _, s := range f.Members {
			assert.False(t, names[s.Name], "%s is there twice", s.Name)
			names[s.Name] = true
			members++
			assert.True(t, strings.HasPrefix(s.Name, number), s.Name)
			check(t, s)
			sound(t, s)
		}
	}
	assert.Len(t, numbers, 14)
	assert.LessOrEqual(t, members, 94)
}

// sound is what a drawn or disturbed world has to be for its oracle to be right.
func sound(t assert.TestingT, s scenario.Scenario) {
	p := &s.Provider
	assert.True(t, s.Provider.Cap == 0 || s.Provider.Cap >= s.Processes, "%s: a place for each process", s.Name)
	assert.True(t, !s.Tokens || p.Tokens.Burst > 2*4096, "%s: calls fit into the bucket", s.Name)
	for _, q := range p.More {
		assert.True(t, q.Max > 0 && q.Per > 0, s.Name)
	}
	for _, e := range p.Errors {
		assert.True(t, e.Share > 0 && e.Share <= 1 && (e.Share < 1 || e.For > 0), "%s: no outage is for ever", s.Name)
	}
}

func TestHarsher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 1e7).Draw(t, "i")
		s := scenario.Harsher(i)
		check(t, s)
		sound(t, s)
		assert.Equal(t, s, scenario.Harsher(i))
		rate := s.Provider.Requests.PerMinute / 60
		assert.LessOrEqual(t, rate, 1000.0, s.About)
		assert.LessOrEqual(t, rate*s.Latency.Seconds(), 240.0, "%s: about what a window of ours holds", s.About)
	})
}

// What disturbs the families turns up in the harsher generator.
func TestHarsherDrawsFromTheFamilies(t *testing.T) {
	const n = 4000
	found := map[string]int{}
	count := func(what string, yes bool) {
		if yes {
			found[what]++
		}
	}
	for i := range n {
		s := scenario.Harsher(i)
		p := &s.Provider
		count("tiers", p.Requests.PerMinute > 0 && len(p.More) > 0 && !p.More[0].Hollow)
		count("long", len(p.More) > 0 && p.More[0].Per >= 60*60*1e9)
		count("cap and rate", p.Cap > 0 && p.Requests.PerMinute > 0)
		count("moving cap", p.Cap > 0 && len(s.Changes) > 0)
		count("queue", p.Overload > 0)
		count("out of order", s.Transit.High > 0)
		count("tokens", s.Tokens && s.Guess.Low > 0)
		count("tail", s.Tail > 0)
		count("slow", p.Requests.PerMinute > 0 && p.Requests.PerMinute < 10)
		count("fast", p.Requests.PerMinute > 6000)
		count("long calls", s.Latency.Seconds() >= 60)
		count("sixteen", s.Processes == 16)
		count("steps", p.Cap == 0 && len(s.Changes) > 0)
		count("lies", p.Lie > 0 || p.Constant > 0)
		count("headers", p.Tale != provider.Tale{} || len(p.More) > 0 && p.More[len(p.More)-1].Hollow)
		for _, e := range p.Errors {
			count("strays", e.For == 0)
			count("episodes", e.Every > 0)
			count("outage", e.For > 0 && e.Every == 0)
		}
	}
	assert.Len(t, found, 18, "%v", found)
	for what, times := range found {
		assert.Greater(t, times, n/50, what)
	}
}
