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
	for i := range rapid.IntRange(0, 2).Draw(t, "quotas") {
		c.More = append(c.More, provider.Quota{
			Max: rapid.IntRange(1, 9).Draw(t, "quota max"), Count: provider.Count(i) + provider.Count(rapid.IntRange(0, 2).Draw(t, "count")),
			Per:  rapid.SampledFrom([]time.Duration{sec, 10 * sec, time.Hour}).Draw(t, "quota per"),
			Turn: rapid.SampledFrom([]time.Duration{0, 3 * sec, 70 * sec}).Draw(t, "turn"),
		})
	}
	if some("outage") {
		c.Errors = []provider.Errors{{Share: 1, From: sec, For: 10 * sec}}
	}
	if some("overload") {
		c.Overload = rapid.IntRange(1, 4).Draw(t, "most")
	}
	return c
}

// A provider never admits more than each of its rules, and a call that waits as
// long as requested is admitted unless too many are in flight.
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
			if room := (c.Cap == 0 || len(flying) < c.Cap) && (c.Overload == 0 || len(flying) < c.Overload); !a.Admitted &&
				a.RetryAfter > 0 && room && !c.RefusalsCount && !out(c, now+a.RetryAfter) {
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
	if c.Overload > 0 && flying > c.Overload {
		t.Fatalf("%d in flight, more than it can", flying)
	}
	if out(c, last.at) {
		t.Fatalf("admitted in an outage, at %s", last.at)
	}
	for _, q := range c.More {
		judgeQuota(t, q, history)
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

// out reports whether nothing gets through at that time.
func out(c provider.Config, at time.Duration) bool {
	return len(c.Errors) > 0 && at >= c.Errors[0].From && at < c.Errors[0].From+c.Errors[0].For
}

// judgeQuota counts every admission again, from the first one on.
func judgeQuota(t *rapid.T, q provider.Quota, history []happening) {
	count, begin := 0, time.Duration(-1)
	last := history[len(history)-1].at
	within := 0.0
	for _, e := range history {
		if e.requests == 0 {
			continue
		}
		switch q.Count {
		case provider.Clock:
			if (e.at+q.Per-q.Turn%q.Per)/q.Per == (last+q.Per-q.Turn%q.Per)/q.Per {
				count++
			}
		case provider.FirstCall:
			if begin < 0 || e.at >= begin+q.Per {
				begin, count = e.at, 0
			}
			count++
		case provider.Exactly:
			if last-e.at < q.Per {
				count++
			}
		case provider.Refilled:
		}
	}
	if count > q.Max {
		t.Fatalf("%d of %+v", count, q)
	}
	for _, e := range slices.Backward(history) {
		within += float64(e.requests)
		if most := float64(q.Max) * (1 + (last-e.at).Seconds()/q.Per.Seconds()); q.Count == provider.Refilled && within > most+1e-6 {
			t.Fatalf("%g in %s of %+v", within, last-e.at, q)
		}
	}
}
