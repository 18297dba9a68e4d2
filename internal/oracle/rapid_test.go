package oracle

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawText(t *rapid.T, kind string, unit int, scale time.Duration, anchor time.Time) text {
	per := scale * time.Duration(rapid.SampledFrom([]int{1, 2, 3, 5, 12, 24, 48}).Draw(t, "per"))
	return text{
		kind: kind, unit: unit, per: per, scale: scale,
		max:    rapid.Int64Range(0, 12).Draw(t, "max"),
		rate:   rapid.Int64Range(1, 5).Draw(t, "rate"),
		anchor: anchor.Add(scale * time.Duration(rapid.IntRange(-30, 0).Draw(t, "anchor"))),
		epoch:  anchor,
		slack:  min(per-1, scale*time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "slack"))),
	}
}

// drawScript makes any well-formed log for one rule.
func drawScript(t *rapid.T, first text, kinds []Kind) script {
	var s script
	var inFlight []int
	now, x := time.Duration(0), first
	for range rapid.IntRange(1, 40).Draw(t, "n") {
		now += first.scale * time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 5, 12, 23, 24, 25}).Draw(t, "dt"))
		e := Entry{At: now, Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		switch e.Kind {
		case Admission, Debit:
			e.Weights[0] = rapid.Int64Range(0, 6).Draw(t, "weight")
			e.Weights[1] = rapid.Int64Range(0, 6).Draw(t, "weight")
			e.Ticket = rapid.Int64Range(0, 9).Draw(t, "ticket") + int64(len(s.log))
			e.Returning = rapid.Bool().Draw(t, "returning")
		case GiveBack:
			if len(s.log) == 0 {
				continue
			}
			e.Of = rapid.IntRange(0, len(s.log)-1).Draw(t, "of")
			for u := range 2 {
				e.Weights[u] = rapid.Int64Range(0, s.left(e.Of, len(s.log)-1, u)).Draw(t, "back")
			}
		case End:
			if len(inFlight) == 0 {
				continue
			}
			k := rapid.IntRange(0, len(inFlight)-1).Draw(t, "of")
			e.Of = inFlight[k]
			inFlight = append(inFlight[:k], inFlight[k+1:]...)
		case Resize:
			x = drawText(t, first.kind, first.unit, first.scale, first.epoch)
			r := x.rule()
			e.To = &r
		}
		if e.Kind == Admission {
			inFlight = append(inFlight, len(s.log))
		}
		s.log, s.texts = append(s.log, e), append(s.texts, x)
	}
	return s
}

var anything = []Kind{Admission, Admission, Admission, Admission, Debit, GiveBack, GiveBack, End, End, Resize}

// draw makes a rule of the kind and a log for it.
func draw(t *rapid.T, kind string, kinds []Kind) (text, script) {
	scale := rapid.SampledFrom([]time.Duration{1, time.Hour}).Draw(t, "scale")
	// Clocks change some days later.
	anchor := time.Date(2026, time.March, 27, 0, 0, 0, 0, zone())
	first := drawText(t, kind, rapid.IntRange(0, 1).Draw(t, "unit"), scale, anchor)
	return first, drawScript(t, first, kinds)
}

func zone() *time.Location {
	if loc, err := time.LoadLocation("Europe/Berlin"); err == nil {
		return loc
	}
	return time.UTC
}

// TestAgainstBruteForce compares stream and lookup with trying everything.
func TestAgainstBruteForce(t *testing.T) {
	for _, kind := range []string{"sliding", "bucket", "fixed", "concurrency", "fifo"} {
		t.Run(kind, rapid.MakeCheck(func(t *rapid.T) {
			first, s := draw(t, kind, anything)
			a := NewAuditor(first.rule())
			for p, e := range s.log {
				before := a.Verdict()
				a.Add(e)
				v := a.Verdict()
				require.NoError(t, v.Problem)
				excess := s.excess(p, first)
				judged := v.Tallies[0].Judged - before.Tallies[0].Judged
				over := v.Tallies[0].Violations - before.Tallies[0].Violations
				if excess == nil {
					require.Zero(t, judged, p)
					continue
				}
				require.Equal(t, 1, judged, p)
				require.Equal(t, excess.Sign() > 0, over == 1, "entry %d: %s beyond", p, excess)
				if len(v.Violations) > len(before.Violations) {
					last := v.Violations[len(v.Violations)-1]
					want, _ := excess.Float64()
					require.InDelta(t, want, last.Observed-last.Allowed, 1e-9)
				}
			}
			both(t, s.log, first.rule())
		}))
	}
}

// TestSeveralRules: what a rule says does not depend on the others.
func TestSeveralRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := []text{}
		rules := []Rule{}
		anchor := time.Date(2026, time.March, 27, 0, 0, 0, 0, time.UTC)
		for _, kind := range []string{"sliding", "bucket", "fixed", "sliding", "concurrency", "fifo"} {
			texts = append(texts, drawText(t, kind, len(texts)%2, 1, anchor))
			rules = append(rules, texts[len(texts)-1].rule())
		}
		target := rapid.IntRange(0, len(rules)-1).Draw(t, "resized")
		s := drawScript(t, texts[target], anything)
		for i := range s.log {
			if s.log[i].Kind == Resize {
				s.log[i].Of = target
			}
		}
		v := both(t, s.log, rules...)
		for i, r := range rules {
			log := slices.Clone(s.log)
			for j := range log {
				if log[j].Kind == Resize && i == target {
					log[j].Of = 0
				} else if log[j].Kind == Resize {
					log[j] = Entry{At: log[j].At, Kind: Debit} // of nothing
				}
			}
			require.Equal(t, follow(log, r).Tallies[0], v.Tallies[i])
		}
	})
}

// TestAnyInterval: on the final weights of a log without debits, looking back
// from admissions is the same as looking at every interval that there is.
func TestAnyInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, s := draw(t, "sliding", []Kind{Admission, Admission, Admission, GiveBack})
		log := Settled(s.log)
		legal := true
		if len(log) > 0 {
			for begin := -first.per; begin <= log[len(log)-1].At; begin += first.scale {
				sum := int64(0)
				for q, e := range log {
					if e.Kind == Admission && e.At >= begin && e.At < begin+first.per-first.slack {
						sum += s.left(q, len(log)-1, first.unit)
					}
				}
				legal = legal && sum <= first.max
			}
		}
		v := both(t, log, first.rule())
		require.NoError(t, v.Problem)
		require.Equal(t, legal, v.Count() == 0, v)
	})
}

// TestSettled: the final weights are judged no more strictly.
func TestSettled(t *testing.T) {
	for _, kind := range []string{"sliding", "bucket", "fixed"} {
		t.Run(kind, rapid.MakeCheck(func(t *rapid.T) {
			first, s := draw(t, kind, anything)
			strict, final := both(t, s.log, first.rule()), both(t, Settled(s.log), first.rule())
			require.NoError(t, final.Problem)
			require.LessOrEqual(t, final.Count(), strict.Count())
			require.LessOrEqual(t, final.Tallies[0].Worst.Ratio(), strict.Tallies[0].Worst.Ratio()+1e-9)
		}))
	}
}

func TestTimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Call {
			at := time.Duration(rapid.IntRange(0, 20).Draw(t, "at"))
			return Call{At: at, Done: at + time.Duration(rapid.IntRange(-1, 8).Draw(t, "took")), Weights: Weights{1}}
		}), 0, 20).Draw(t, "calls")
		log := Timeline(calls)
		peak, zero := 0, false
		for at := range time.Duration(21) {
			n := 0
			for _, c := range calls {
				if c.At <= at && (c.Done > at || c.Done < c.At) {
					n++
				}
				zero = zero || c.At == c.Done
			}
			peak = max(peak, n)
		}
		v := both(t, log, Concurrency(int64(peak)), Sliding(0, int64(len(calls)), 100))
		require.NoError(t, v.Problem)
		require.Equal(t, len(calls), v.Tallies[1].Judged)
		if !zero { // a call that takes no time counts at its instant all the same
			require.NoError(t, v.Err())
		}
		if peak > 0 {
			require.Positive(t, both(t, log, Concurrency(int64(peak-1))).Count())
		}
	})
}
