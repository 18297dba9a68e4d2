package meter

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What a gauge says about when units become free is what it counts then.
func TestGaugeFrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SampledFrom([]Window{
			slidingWindow(20, second), slidingWindow(3000, second), tokenBucket(40, 10), tokenBucket(8, 3), calendarWindow(20, second),
		}).Draw(t, "window")
		g := New(w, time.Unix(0, 0), rapid.SampledFrom([]time.Duration{0, second / 8}).Draw(t, "guard"), 0)
		now := Instant(0)
		for i := range rapid.Int64Range(0, 20).Draw(t, "calls") {
			at, n := now, rapid.Int64Range(1, 9).Draw(t, "n")
			g.Take(at, n)
			now += time.Duration(rapid.Int64Range(0, int64(second/2)).Draw(t, "step"))
			g.Settle(now, i+1, at, rapid.Int64Range(-1, n).Draw(t, "less"))
		}
		spent := g.Spent(now)
		first, all := g.Frees(now)
		if spent == 0 {
			if first != 0 || all != 0 {
				t.Fatalf("nothing is spent, but frees in %s and %s", first, all)
			}
			return
		}
		if before, then := g.Spent(now+first-1), g.Spent(now+first); before != spent || then >= spent {
			t.Fatalf("%d are spent, %d just before %s, %d then", spent, before, first, then)
		}
		if all > first && g.Spent(now+all-1) == 0 || g.Spent(now+all) != 0 {
			t.Fatalf("nothing should be spent after %s, but %d are, and before %d", all, g.Spent(now+all), g.Spent(now+all-1))
		}
	})
}
