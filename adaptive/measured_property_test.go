package adaptive_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// hostile draws what a response may claim, which need not be true, possible or the
// same twice.
func hostile(t *rapid.T) (m [throttle.Units]adaptive.Meter) {
	amount := rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, 2, 9, 60, 1000, 1 << 40, math.MaxInt64})
	reset := rapid.SampledFrom([]time.Duration{
		math.MinInt64, 0, 1, time.Millisecond, 300 * time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, math.MaxInt64,
	})
	for _, u := range []throttle.Unit{throttle.Requests, throttle.Tokens} {
		if u == throttle.Tokens { // of less than a call takes, many calls' worth are waited for
			amount = rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1_000_000, 1 << 40, math.MaxInt64})
		}
		m[u] = adaptive.Meter{
			Known: rapid.Bool().Draw(t, "known"), Limit: amount.Draw(t, "limit"),
			Remaining: amount.Draw(t, "remaining"), Reset: reset.Draw(t, "reset"),
		}
	}
	return m
}

// hostileFeedback draws a response of any kind.
func hostileFeedback(t *rapid.T, meters [throttle.Units]adaptive.Meter) adaptive.Feedback {
	return adaptive.Feedback{
		Verdict: rapid.SampledFrom([]adaptive.Verdict{
			adaptive.OK, adaptive.OK, adaptive.OK, adaptive.OK, adaptive.OK, adaptive.Hit, adaptive.Hit,
			adaptive.Overloaded, adaptive.Transient, adaptive.Unsent, adaptive.Terminal,
		}).Draw(t, "verdict"),
		Kind: rapid.SampledFrom([]adaptive.Kind{
			adaptive.UnknownKind, adaptive.KindRequests, adaptive.KindTokens, adaptive.KindConcurrency, adaptive.KindOverload,
		}).Draw(t, "kind"),
		RetryAfter: rapid.SampledFrom([]time.Duration{
			0, 0, 0, 1, time.Second, time.Minute, adaptive.MaxRetryAfter, math.MaxInt64,
		}).Draw(t, "retry after"),
		SlowDown: rapid.IntRange(0, 19).Draw(t, "slow down") == 0,
		Meters:   meters,
		Used:     throttle.Cost{Tokens: rapid.SampledFrom([]int64{0, 1, 100, 4096}).Draw(t, "used")},
	}
}

// longest is what a call that is alone waits at most: headers are believed for a day, of
// which others may take nine tenths, and three calls' worth are waited for. At the
// lowest pace, a token in 1,000 seconds, a call of 4,096 takes 48 days, and may wait for another.
const longest = 100 * 24 * time.Hour

// Whatever responses claim, the numbers stay finite, and a call that is alone waits for a
// time that ends.
func TestNoResponseBreaksMeasured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_800_000_000, 0)
		law := adaptive.Measured{Initial: 4, Max: 50}
		if rapid.Bool().Draw(t, "preset") {
			law.Prior.Windows = []throttle.Window{throttle.Sliding(300, time.Minute), throttle.Sliding(40_000, time.Minute).Of(throttle.Tokens)}
		}
		state, err := law.Start(now, 1)
		if err != nil {
			t.Fatal(err)
		}
		var flying []throttle.Sent
		var total throttle.Cost
		var seq int64
		end := func(i int, f adaptive.Feedback) {
			s := flying[i]
			flying = append(flying[:i], flying[i+1:]...)
			state.OnResult(now, s, len(flying), f)
		}
		meters := hostile(t)
		for range rapid.IntRange(1, 6).Draw(t, "phases") {
			if rapid.Bool().Draw(t, "other headers") {
				meters = hostile(t)
			}
			usual := hostileFeedback(t, meters)
			pause := rapid.SampledFrom([]time.Duration{0, 1, time.Millisecond, 100 * time.Millisecond, time.Second, time.Minute}).Draw(t, "pause")
			count := rapid.SampledFrom([]bool{false, true}).Draw(t, "remaining falls")
			for range rapid.IntRange(1, 40).Draw(t, "calls") {
				f := usual
				if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
					f = hostileFeedback(t, meters)
				}
				if m := &f.Meters[throttle.Requests]; count && m.Remaining > 0 {
					m.Remaining -= min(m.Remaining, seq%(m.Limit/2+1))
				}
				cost := throttle.Cost{Requests: 1, Tokens: rapid.SampledFrom([]int64{0, 100, 100, 4096}).Draw(t, "tokens")}
				wait := state.Admit(now, cost, len(flying))
				sound(t, state, wait)
				for ; wait > 0 && len(flying) > 0; wait = state.Admit(now, cost, len(flying)) {
					end(0, f)
					sound(t, state, wait)
				}
				for tries := 0; wait > 0 && tries < 4; tries++ {
					if wait > longest {
						t.Fatalf("a call that is alone waits for %s: %s", wait, state.View().Bound)
					}
					now = now.Add(wait)
					wait = state.Admit(now, cost, 0)
					sound(t, state, wait)
				}
				if wait > 0 {
					now = now.Add(wait)
					continue
				}
				seq++
				total.Requests++
				total.Tokens += cost.Tokens
				s := throttle.Sent{Seq: seq, At: now, Cost: cost, Total: total, InFlight: len(flying)}
				state.OnSend(now, s)
				flying = append(flying, s)
				if rapid.Bool().Draw(t, "ends") {
					now = now.Add(pause)
					end(rapid.IntRange(0, len(flying)-1).Draw(t, "which"), f)
				}
				sound(t, state, 0)
			}
			saved, err := state.(adaptive.Saver).Save(now)
			if err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 3).Draw(t, "restore") == 0 {
				if state, err = law.Restore(now, 1, saved); err != nil {
					t.Fatal(err)
				}
				flying = nil
			}
		}
	})
}

func sound(t *rapid.T, state adaptive.State, wait time.Duration) {
	v := state.View()
	if wait < 0 || v.Concurrency < 1 || v.Concurrency > 50 {
		t.Fatalf("it waits %s, concurrency %d", wait, v.Concurrency)
	}
	for _, pace := range v.Pace {
		if pace < 0 || math.IsNaN(pace) || math.IsInf(pace, 0) {
			t.Fatalf("the paces are %v", v.Pace)
		}
	}
}
