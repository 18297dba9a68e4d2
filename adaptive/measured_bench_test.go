package adaptive_test

import (
	"testing"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// turn is one call as a limiter takes a law through it, with refused every so
// often: asked, sent, answered.
func turn(tb testing.TB, law adaptive.Law, headers bool) func() {
	tb.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	state, err := law.Start(now, 1)
	if err != nil {
		tb.Fatal(err)
	}
	cost := throttle.Cost{Requests: 1, Tokens: 1000}
	sent := throttle.Sent{InFlight: 3, Cost: cost}
	used := throttle.Cost{Requests: 1, Tokens: 700}
	return func() {
		now = now.Add(50 * time.Millisecond)
		if wait := state.Admit(now, cost, 3); wait > 0 && wait < time.Minute {
			now = now.Add(wait)
			state.Admit(now, cost, 3)
		}
		sent.Seq++
		sent.At = now
		sent.Total.Requests++
		sent.Total.Tokens += cost.Tokens
		state.OnSend(now, sent)
		f := adaptive.Feedback{Verdict: adaptive.OK, Used: used}
		if sent.Seq%200 == 0 {
			f = adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second}
		}
		if headers {
			f.Meters[throttle.Requests] = adaptive.Meter{Known: true, Limit: 6000, Remaining: 30, Reset: time.Second}
			f.Meters[throttle.Tokens] = adaptive.Meter{Known: true, Limit: 6_000_000, Remaining: 300_000, Reset: time.Second}
		}
		state.OnResult(now.Add(200*time.Millisecond), sent, 3, f)
	}
}

var turns = []struct {
	name    string
	law     adaptive.Law
	headers bool
}{
	{"AIMD", adaptive.AIMD{}, false},
	{"Measured", adaptive.Measured{}, false},
	{"MeasuredByHeaders", adaptive.Measured{}, true},
}

func BenchmarkLaw(b *testing.B) {
	for _, c := range turns {
		b.Run(c.name, func(b *testing.B) {
			run := turn(b, c.law, c.headers)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

func TestAllocationsOfALaw(t *testing.T) {
	for _, c := range turns {
		t.Run(c.name, func(t *testing.T) {
			run := turn(t, c.law, c.headers)
			if n := testing.AllocsPerRun(2000, run); n > 0 {
				t.Errorf("%g allocations a call", n)
			}
		})
	}
}
