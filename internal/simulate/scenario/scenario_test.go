package scenario_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

func TestTheNamed(t *testing.T) {
	assert.Len(t, scenario.Twelve(), 12)
	names := map[string]bool{}
	for _, s := range append(scenario.Twelve(), scenario.Beyond()...) {
		assert.False(t, names[s.Name], "%s is there twice", s.Name)
		names[s.Name] = true
		check(t, s)
	}
}

// check is what the world relies on.
func check(t assert.TestingT, s scenario.Scenario) {
	assert.NotEmpty(t, s.About)
	assert.True(t, s.Latency > 0 && s.Net > 0 && s.Refusal > 0 && s.Processes > 0 && s.Pool > 0, "%+v", s)
	assert.Equal(t, s.Tokens, s.Provider.Tokens.PerMinute > 0, s.Name)
	assert.False(t, s.Provider.Headers, "whether there are headers is the contender's affair")
	assert.True(t, slices.IsSortedFunc(s.Changes, func(a, b provider.Change) int { return int(a.At - b.At) }))
	for _, c := range s.Changes {
		assert.True(t, c.At > client.WarmUp && c.At < s.End())
		assert.True(t, c.Factor > 0 || c.Cap > 0 || c.Become != nil)
	}
}

func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 1e6).Draw(t, "i")
		s := scenario.Random(i)
		check(t, s)
		assert.Equal(t, s, scenario.Random(i))
		assert.True(t, s.Latency >= 300*time.Millisecond && s.Latency < 15*time.Second)
		rate := s.Provider.Requests.PerMinute/60 + float64(s.Provider.Minute)/60
		if s.Tokens {
			rate /= 1.3
		}
		if len(s.Changes) > 0 {
			rate *= max(1, s.Changes[0].Factor)
		}
		if s.Provider.Cap == 0 {
			most := max(120, 10./60*4*s.Latency.Seconds()) // a window has at least ten
			assert.True(t, rate > 0 && rate*s.Latency.Seconds() <= most+1e-6, s.About)
		} else {
			assert.True(t, s.Provider.Cap >= 2*s.Processes && s.Provider.Cap <= 100)
		}
	})
}

// What Recovery changes at the end of the history has no limit, error or lie of the provider before.
func TestRecovery(t *testing.T) {
	kinds := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 1e6).Draw(t, "i")
		s, before := scenario.Recovery(i), scenario.Harsher(i)
		check(t, s)
		assert.Equal(t, s, scenario.Recovery(i))
		assert.Equal(t, before.Provider, s.Provider)
		assert.Equal(t, 1, s.Processes)
		last := s.Changes[len(s.Changes)-1]
		assert.Equal(t, client.WarmUp+20*time.Minute, last.At)
		p := *last.Become
		switch {
		case p.Cap > 0:
			kinds["cap"]++
		case p.Minute > 0:
			kinds["minute"]++
		default:
			kinds["bucket"]++
		}
		p.Cap, p.Minute, p.Requests, p.RetryAfter = 0, 0, provider.Bucket{}, 0
		assert.Zero(t, p)
	})
	assert.Len(t, kinds, 3, "%v", kinds)
}

// The bursts are no more than a provider allows at its lowest limit.
func TestBursts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 1e6).Draw(t, "i")
		s, same := scenario.Bursts(i), scenario.Random(i)
		check(t, s)
		assert.Equal(t, s, scenario.Bursts(i))
		assert.Equal(t, same.Provider, s.Provider)
		assert.True(t, s.Bursts.Items >= 1 && s.Bursts.Items <= 200, s.About)
		assert.LessOrEqual(t, s.Bursts.Every.Seconds(), 600.0)
		if s.Bursts.Items > 1 && s.Bursts.Items < 200 {
			assert.GreaterOrEqual(t, s.Bursts.Every.Seconds(), 10.0, "no more than half is lost to rounding")
		}
		lowest := max(s.Provider.Requests.PerMinute, float64(s.Provider.Minute)) / 60
		slots := float64(s.Provider.Cap) // instead of a rate
		for _, change := range s.Changes {
			if change.Cap > 0 {
				slots = min(slots, float64(change.Cap))
			} else {
				lowest *= min(1, change.Factor)
			}
		}
		if slots > 0 {
			lowest = slots / (s.Latency + 2*s.Net).Seconds()
		}
		each := float64(s.Bursts.Items*s.Processes) / s.Bursts.Every.Seconds()
		assert.True(t, each <= 0.7*lowest+1e-6 && each >= 0.05*lowest/1.3-1e-6, s.About)
	})
}

func TestSparse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 1e6).Draw(t, "i")
		s, same := scenario.Sparse(i), scenario.Harsher(i)
		check(t, s)
		assert.Equal(t, s, scenario.Sparse(i))
		assert.Equal(t, same.Provider, s.Provider)
		assert.Equal(t, 1, s.Processes)
		assert.Equal(t, 1, s.Bursts.Items)
		assert.True(t, s.Bursts.Every >= 10*time.Second && s.Bursts.Every <= time.Minute, s.About)
		assert.Equal(t, s.End()-10*time.Minute, s.Bursts.Until, "what is measured begins with the many items")
	})
}

// The limit is never above the first one, nor below a third of it.
func TestMoving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 1e6).Draw(t, "i")
		s, same := scenario.Moving(i), scenario.Random(i)
		check(t, s)
		assert.Equal(t, s, scenario.Moving(i))
		assert.Equal(t, same.Provider, s.Provider)
		left := 1.0
		for k, c := range s.Changes {
			every := s.Changes[0].At - client.WarmUp
			assert.Equal(t, client.WarmUp+time.Duration(k+1)*every, c.At)
			assert.True(t, every >= 10*time.Second && every < 5*time.Minute, s.About)
			if s.Provider.Cap > 0 {
				assert.True(t, c.Cap <= s.Provider.Cap && c.Cap >= max(s.Processes, s.Provider.Cap/3-1), s.About)
				continue
			}
			left *= c.Factor
			assert.True(t, left < 1+1e-9 && left > 1.0/3-1e-9, s.About)
		}
	})
}

// All kinds turn up, in the shares that Random promises.
func TestRandomShares(t *testing.T) {
	const n = 6000
	var caps, tokens, minutes, counting, shared, changing int
	count := func(c *int, yes bool) {
		if yes {
			*c++
		}
	}
	for i := range n {
		s := scenario.Random(i)
		count(&caps, s.Provider.Cap > 0)
		count(&tokens, s.Tokens)
		count(&minutes, s.Provider.Minute > 0)
		count(&counting, s.Provider.RefusalsCount)
		count(&shared, s.Shared())
		count(&changing, s.Provider.Cap == 0 && len(s.Changes) > 0)
	}
	for _, kind := range []int{caps, tokens, minutes, counting} {
		assert.InDelta(t, n/6, kind, n*0.02)
	}
	assert.InDelta(t, n*2/5, shared, n*0.03)
	assert.InDelta(t, n*5/18, changing, n*0.03)
}
