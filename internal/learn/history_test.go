package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// historyOf is a call of ten tokens, eight of which are used, each step seconds.
func historyOf(calls int, step float64) (h History, last Point) {
	for i := 1; i <= calls; i++ {
		last = Point{At: float64(i) * step, Calls: float64(i), Tokens: 10 * float64(i), Ends: float64(i), Ended: 10 * float64(i), Used: 8 * float64(i)}
		h.Add(last)
	}
	return h, last
}

func TestHistoryOfEvenSendsIsExactAtAnyAge(t *testing.T) {
	for name, c := range map[string]struct {
		calls      int
		step, from float64
		want       float64
	}{
		"all":                   {100, 0.01, 0, 100},
		"none":                  {100, 0.01, 1, 0},
		"on a point":            {100, 0.01, 0.9, 10},
		"between two points":    {100, 0.01, 0.905, 9.5},
		"below the finest step": {1000, 0.001, 0.905, 95},
		"half of an hour":       {3600, 1, 1800, 1800},
		"last second of it":     {3600, 1, 3599, 1},
		"hours":                 {9000, 1, 100, 8900},
		"sparse":                {5, 600, 1500, 2.5},
	} {
		t.Run(name, func(t *testing.T) {
			h, last := historyOf(c.calls, c.step)
			got := h.Since(c.from, last)
			assert.InDelta(t, c.want, got.Calls, 1e-6)
			assert.InDelta(t, 10*c.want, got.Tokens, 1e-6)
			assert.InDelta(t, c.want, got.Ends, 1e-6)
			assert.InDelta(t, 10*c.want, got.Ended, 1e-6)
			assert.InDelta(t, 8*c.want, got.Used, 1e-6)
		})
	}
}

func TestHistoryWithoutSendsKnowsOnlyTheLast(t *testing.T) {
	var h History
	assert.Equal(t, Point{Calls: 3, Tokens: 5}, h.Since(1, Point{Calls: 3, Tokens: 5}))
}

func TestHistoryCountsUpToTheLastThatItIsTold(t *testing.T) {
	h, last := historyOf(10, 1)
	last.At, last.Calls = 12, 9 // one was refused meanwhile
	assert.InDelta(t, 3, h.Since(6, last).Calls, 1e-9)
	assert.InDelta(t, -0.5, h.Since(11, last).Calls, 1e-9, "half way from the newest point to the last")
}

// TestHistoryAgainstAList compares with a list of all sends. A level is used
// for ages above half of what it spans, so its step is below 1/15.5 of the age;
// a point stands for what was sent within two steps after it.
func TestHistoryAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h History
		var sends []Point
		var last Point
		gap := rapid.SampledFrom([]float64{0, 0.001, 0.004, 0.01, 0.1, 1, 3})
		for range rapid.IntRange(1, 40).Draw(t, "bursts") {
			step, tokens := gap.Draw(t, "gap"), float64(rapid.IntRange(0, 9).Draw(t, "tokens"))
			for range rapid.IntRange(1, 60).Draw(t, "calls") {
				last.At += step
				last.Calls++
				last.Tokens += tokens
				h.Add(last)
				sends = append(sends, last)
			}
			last.At += gap.Draw(t, "silence")
		}
		from := last.At * rapid.Float64Range(-0.1, 1).Draw(t, "from")
		got := h.Since(from, last)
		if from < sends[0].At {
			assert.Equal(t, last.Calls, got.Calls, "all there ever was")
			return
		}
		apart := 2 * max(historyStep, (last.At-from)/15.5)
		most, least := naiveSince(sends, from, apart)
		assert.LessOrEqual(t, got.Calls, most.Calls+1e-6)
		assert.GreaterOrEqual(t, got.Calls, least.Calls-1-1e-6)
		assert.LessOrEqual(t, got.Tokens, most.Tokens+1e-6)
		assert.GreaterOrEqual(t, got.Tokens, least.Tokens-9-1e-6)
	})
}

// naiveSince counts from the newest send up to from, and from the next one
// after it, each moved apart.
func naiveSince(sends []Point, from, apart float64) (most, least Point) {
	begin, end := 0.0, sends[len(sends)-1].At
	for _, s := range sends {
		if s.At <= from {
			begin = s.At
		} else {
			end = min(end, s.At)
		}
	}
	var before Point
	for _, s := range sends {
		calls, tokens := s.Calls-before.Calls, s.Tokens-before.Tokens
		before = s
		if s.At >= begin-apart-1e-9 {
			most.Calls += calls
			most.Tokens += tokens
		}
		if s.At > end+apart+1e-9 {
			least.Calls += calls
			least.Tokens += tokens
		}
	}
	return most, least
}
