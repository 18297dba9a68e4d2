package provider_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/simulate/provider"
)

// happening is what a second opinion goes by: an admission, or a settlement
// that gave tokens back. It works out every sum from the whole history.
type happening struct {
	at       time.Duration
	requests int
	tokens   int64
}

func drawConfig(t *rapid.T) provider.Config {
	some := func(name string) bool { return rapid.Bool().Draw(t, name) }
	c := provider.Config{
		RetryAfter: provider.Exact, RefusalsCount: some("counts"), Debt: 3,
		Cap: rapid.IntRange(0, 4).Draw(t, "cap"), Minute: rapid.IntRange(0, 9).Draw(t, "minute"),
	}
	if some("bucket") {
		c.Requests = provider.Bucket{PerMinute: rapid.Float64Range(1, 600).Draw(t, "rate"), Burst: float64(rapid.IntRange(1, 9).Draw(t, "burst"))}
	}
	if some("tokens") {
		c.Tokens = provider.Bucket{PerMinute: rapid.Float64Range(600, 6000).Draw(t, "tpm"), Burst: 100}
	}
	if some("log") {
		c.Log = provider.Log{Max: rapid.IntRange(1, 9).Draw(t, "log max"), Per: rapid.SampledFrom([]time.Duration{sec, 10 * sec}).Draw(t, "per")}
	}
	return c
}

// A provider never admits more than each of its rules, and whoever waits as
// long as it says is admitted unless too many are in flight.
func TestProviderKeepsItsRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		p := provider.New(c, nil)
		var now time.Duration
		var history []happening
		var flying []int64 // what they reserved
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now += time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 1e6, 1e8, 1e9, 2e10}).Draw(t, "later"))
			if len(flying) > 0 && rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
				reserved := flying[0]
				flying = flying[1:]
				used := rapid.Int64Range(0, reserved).Draw(t, "used")
				p.Depart(now, reserved, used)
				history = append(history, happening{now, 0, used - reserved})
				continue
			}
			tokens := rapid.Int64Range(0, 100).Draw(t, "reserved")
			a, _ := p.Arrive(now, tokens)
			if !a.Admitted && a.RetryAfter > 0 && (c.Cap == 0 || len(flying) < c.Cap) && !c.RefusalsCount {
				now += a.RetryAfter
				if a, _ = p.Arrive(now, tokens); !a.Admitted {
					t.Fatalf("refused after the wait it asked for")
				}
			}
			if a.Admitted {
				flying = append(flying, tokens)
				history = append(history, happening{now, 1, tokens})
				judge(t, c, history, len(flying))
			}
		}
	})
}

// judge looks at every interval that ends with the last admission.
func judge(t *rapid.T, c provider.Config, history []happening, flying int) {
	last := history[len(history)-1]
	if c.Cap > 0 && flying > c.Cap {
		t.Fatalf("%d in flight", flying)
	}
	var requests, tokens, minute, logged float64
	for _, e := range slices.Backward(history) {
		span := (last.at - e.at).Seconds()
		requests += float64(e.requests)
		tokens += float64(e.tokens)
		if e.at.Truncate(time.Minute) == last.at.Truncate(time.Minute) {
			minute += float64(e.requests)
		}
		if last.at-e.at < c.Log.Per {
			logged += float64(e.requests)
		}
		if b := c.Requests; b.PerMinute > 0 && requests > b.Burst+span*b.PerMinute/60+1e-6 {
			t.Fatalf("%g requests in %g s", requests, span)
		}
		if b := c.Tokens; b.PerMinute > 0 && tokens > b.Burst+span*b.PerMinute/60+1e-6 {
			t.Fatalf("%g tokens in %g s", tokens, span)
		}
	}
	if c.Minute > 0 && minute > float64(c.Minute) {
		t.Fatalf("%g in the minute", minute)
	}
	if c.Log.Max > 0 && logged > float64(c.Log.Max) {
		t.Fatalf("%g in the log", logged)
	}
}
