package oracle

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	sec = time.Second
	hr  = time.Hour
)

// take admits n requests; charge debits them; back gives them back to an entry.
func take(at time.Duration, n int64) Entry { return Entry{At: at, Weights: Weights{n}} }

func charge(at time.Duration, n int64) Entry { return Entry{At: at, Kind: Debit, Weights: Weights{n}} }

func back(at time.Duration, of int, n int64) Entry {
	return Entry{At: at, Kind: GiveBack, Of: of, Weights: Weights{n}}
}
func end(at time.Duration, of int) Entry { return Entry{At: at, Kind: End, Of: of} }
func resize(at time.Duration, of int, to Rule) Entry {
	return Entry{At: at, Kind: Resize, Of: of, To: &to}
}
func ticket(n int64, returning bool) Entry { return Entry{Ticket: n, Returning: returning} }

// both judges in both ways and wants them to agree on every violation.
func both(t require.TestingT, log []Entry, rules ...Rule) Verdict {
	stream, whole := follow(log, rules...), Judge(log, rules...)
	require.Equal(t, stream.Problem, whole.Problem)
	require.Equal(t, stream.Entries, whole.Entries)
	if stream.Problem != nil {
		return stream
	}
	require.Len(t, whole.Violations, len(stream.Violations))
	for i, v := range stream.Violations {
		same(t, v.Reading, whole.Violations[i].Reading)
		require.Equal(t, v.Rule, whole.Violations[i].Rule)
	}
	for i, s := range stream.Tallies {
		w := whole.Tallies[i]
		require.Equal(t, s.Rule, w.Rule)
		require.Equal(t, s.Judged, w.Judged)
		require.Equal(t, s.Violations, w.Violations)
		if s.Judged > 0 && !math.IsInf(s.Worst.Ratio(), 1) {
			require.InDelta(t, s.Worst.Ratio(), w.Worst.Ratio(), 1e-9)
		}
	}
	return stream
}

func follow(log []Entry, rules ...Rule) Verdict {
	a := NewAuditor(rules...)
	for _, e := range log {
		a.Add(e)
	}
	return a.Verdict()
}

func same(t require.TestingT, a, b Reading) {
	require.Equal(t, a.Entry, b.Entry)
	require.Equal(t, a.At, b.At)
	require.InDelta(t, a.Observed, b.Observed, 1e-9*(1+a.Observed))
	require.InDelta(t, a.Allowed, b.Allowed, 1e-9*(1+a.Allowed))
}

func lastAdmission(log []Entry) int {
	i := len(log) - 1
	for log[i].Kind != Admission {
		i--
	}
	return i
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here: ", err)
	}
	return loc
}

// TestEdges gives every rule a log that is legal to the unit and the
// nanosecond, and the same with one more or one earlier, which must be caught.
func TestEdges(t *testing.T) {
	loc := berlin(t)
	may := time.Date(2026, time.May, 4, 0, 0, 0, 0, time.UTC)
	spring, autumn := time.Date(2026, time.March, 29, 0, 0, 0, 0, loc), time.Date(2026, time.October, 25, 0, 0, 0, 0, loc)
	slow := Bucket(0, 1, 3*sec, 1e9)
	const full = 3 * sec * 1e9 // so long it takes to fill: 95 years
	ten, window := Sliding(0, 10, sec), Sliding(0, 10, sec).WithSlack(sec/10)

	for name, tc := range map[string]struct {
		rules    []Rule
		legal    []Entry
		broken   map[string][]Entry
		observed float64
		allowed  float64
	}{
		"sliding": {
			rules: []Rule{ten},
			legal: []Entry{take(0, 4), take(5, 6), take(sec, 4), take(sec+5, 6)},
			broken: map[string][]Entry{
				"a unit":       {take(0, 4), take(5, 6), take(sec, 5)},
				"a nanosecond": {take(0, 4), take(5, 6), take(sec-1, 1)},
			},
			observed: 11, allowed: 10,
		},
		"sliding, another unit": {
			rules:    []Rule{Sliding(1, 10, sec)},
			legal:    []Entry{{Weights: Weights{99, 10}}, {Weights: Weights{99}}},
			broken:   map[string][]Entry{"a unit": {{Weights: Weights{1, 10}}, {Weights: Weights{0, 1}}}},
			observed: 11, allowed: 10,
		},
		"sliding, slack": {
			rules:    []Rule{window},
			legal:    []Entry{take(0, 10), take(sec-sec/10, 10)},
			broken:   map[string][]Entry{"a nanosecond": {take(0, 10), take(sec-sec/10-1, 10)}},
			observed: 20, allowed: 10,
		},
		"sliding, given back": {
			rules: []Rule{ten},
			legal: []Entry{take(0, 4), take(1, 6), back(2, 0, 3), take(3, 3), take(sec, 1)},
			broken: map[string][]Entry{
				"too late":     {take(0, 4), take(1, 6), take(2, 1), back(3, 0, 3)},
				"of the other": {take(0, 4), take(sec-1, 6), back(sec, 0, 4), take(sec, 5)},
			},
			observed: 11, allowed: 10,
		},
		"sliding, debit": {
			rules:    []Rule{ten},
			legal:    []Entry{take(0, 1), charge(1, 20), take(sec+1, 10)},
			broken:   map[string][]Entry{"a unit": {take(0, 1), charge(1, 10), take(sec, 1)}},
			observed: 11, allowed: 10,
		},
		"sliding, lowered": {
			rules:    []Rule{ten},
			legal:    []Entry{take(0, 3), resize(1, 0, Sliding(0, 4, sec)), take(2, 1)},
			broken:   map[string][]Entry{"a unit": {take(0, 4), resize(1, 0, Sliding(0, 4, sec)), take(sec-1, 1)}},
			observed: 5, allowed: 4,
		},
		"sliding, raised": {
			rules: []Rule{Sliding(0, 4, sec)},
			legal: []Entry{take(0, 4), resize(1, 0, ten), take(2, 6)},
			broken: map[string][]Entry{
				"a unit":  {take(0, 4), resize(1, 0, ten), take(sec-1, 7)},
				"history": {take(0, 4), resize(sec-1, 0, Sliding(0, 10, hr)), take(hr-1, 7)},
			},
			observed: 11, allowed: 10,
		},
		"sliding, longer than its memory": {
			rules:    []Rule{ten},
			legal:    []Entry{take(0, 10), resize(sec, 0, Sliding(0, 10, hr)), take(sec, 10)},
			broken:   map[string][]Entry{"a nanosecond": {take(0, 10), resize(sec-1, 0, Sliding(0, 10, hr)), take(hr-1, 10)}},
			observed: 20, allowed: 10,
		},
		"bucket": {
			rules: []Rule{Bucket(0, 2, sec, 10)},
			legal: []Entry{take(0, 4), take(0, 6), take(sec/2, 1), take(sec, 1), take(hr, 10), take(hr+5*sec, 10)},
			broken: map[string][]Entry{
				"a unit":       {take(0, 4), take(0, 6), take(0, 1)},
				"after a rest": {take(0, 4), take(hr, 10), take(hr, 1)},
			},
			observed: 11, allowed: 10,
		},
		"bucket, early": {
			rules:    []Rule{Bucket(0, 2, sec, 10)},
			legal:    []Entry{take(0, 10), take(sec/2, 1)},
			broken:   map[string][]Entry{"a nanosecond": {take(0, 10), take(sec/2-1, 1)}},
			observed: 10.000000002, allowed: 10,
		},
		"bucket, a third per second for 95 years": {
			rules:    []Rule{slow},
			legal:    []Entry{take(0, 1e9), take(full, 1e9), take(full+3*sec, 1), take(2*full, 1e9-1)},
			broken:   map[string][]Entry{"a nanosecond": {take(0, 1e9), take(full-1, 1e9)}},
			observed: 1e9, allowed: 1e9, // a third of a billionth more
		},
		"bucket, slack": {
			rules:    []Rule{Bucket(0, 2, sec, 10).WithSlack(time.Millisecond)},
			legal:    []Entry{take(0, 10), take(sec/2-1e6, 1), take(sec-1e6, 1)},
			broken:   map[string][]Entry{"adding up": {take(0, 10), take(sec/2-1e6, 1), take(sec-2e6, 1)}},
			observed: 10.004, allowed: 10.002,
		},
		"bucket, given back": {
			rules: []Rule{Bucket(0, 1, sec, 10)},
			legal: []Entry{take(0, 10), back(sec, 0, 3), take(sec, 4)},
			broken: map[string][]Entry{
				"a unit": {take(0, 10), back(sec, 0, 3), take(sec, 5)},
				// Full again at 4 s, so of what was taken at 0 nothing is left to return.
				"it had overflowed": {take(0, 4), back(4*sec, 0, 4), take(4*sec, 11)},
			},
			observed: 11, allowed: 10,
		},
		"bucket, given back after a rest": {
			rules:    []Rule{Bucket(0, 1, sec, 10)},
			legal:    []Entry{take(0, 4), take(3*sec, 9), back(3*sec, 0, 4), take(3*sec, 1)},
			broken:   map[string][]Entry{"a unit": {take(0, 4), take(3*sec, 9), back(3*sec, 0, 4), take(3*sec, 2)}},
			observed: 11, allowed: 10,
		},
		"bucket, debit": {
			rules:    []Rule{Bucket(0, 1, sec, 10)},
			legal:    []Entry{take(0, 1), charge(0, 29), take(21*sec, 1)},
			broken:   map[string][]Entry{"a unit": {take(0, 1), charge(0, 29), take(20*sec, 1)}},
			observed: 11, allowed: 10,
		},
		"bucket, a larger burst adds nothing": {
			rules:    []Rule{Bucket(0, 1, sec, 4)},
			legal:    []Entry{take(0, 3), resize(0, 0, Bucket(0, 1, 2*sec, 10)), take(0, 1), take(2*sec, 1)},
			broken:   map[string][]Entry{"a unit": {take(0, 3), resize(0, 0, Bucket(0, 1, 3*sec, 10)), take(0, 2)}},
			observed: 11, allowed: 10,
		},
		"bucket, a full one grows": {
			rules:    []Rule{Bucket(0, 1, sec, 4)},
			legal:    []Entry{take(0, 3), resize(hr, 0, Bucket(0, 1, sec, 10)), take(hr, 4)},
			broken:   map[string][]Entry{"a unit": {take(0, 3), resize(hr, 0, Bucket(0, 1, sec, 10)), take(hr+sec, 6)}},
			observed: 11, allowed: 10,
		},
		"bucket, lowered": {
			rules:    []Rule{Bucket(0, 1, sec, 10)},
			legal:    []Entry{take(0, 3), resize(0, 0, Bucket(0, 1, 7*sec, 4)), take(0, 4), take(7*sec, 1)},
			broken:   map[string][]Entry{"a unit": {take(0, 3), resize(0, 0, Bucket(0, 1, 7*sec, 4)), take(0, 5)}},
			observed: 5, allowed: 4,
		},
		"bucket, lowered, debt": {
			rules:    []Rule{Bucket(0, 1, sec, 10)},
			legal:    []Entry{charge(0, 12), resize(0, 0, Bucket(0, 1, 3*sec, 4)), take(9*sec, 1)},
			broken:   map[string][]Entry{"a nanosecond": {charge(0, 12), resize(0, 0, Bucket(0, 1, 3*sec, 4)), take(9*sec-1, 1)}},
			observed: 4.0000000003, allowed: 4,
		},
		"fixed": {
			rules: []Rule{Fixed(0, 10, hr, may.Add(time.Minute), may)},
			legal: []Entry{take(time.Minute-1, 10), take(time.Minute, 4), take(hr+time.Minute-1, 6), take(hr+time.Minute, 10)},
			broken: map[string][]Entry{
				"a unit":       {take(time.Minute-1, 10), take(time.Minute, 4), take(hr+time.Minute-1, 7)},
				"a nanosecond": {take(time.Minute, 1), take(time.Minute, 9), take(hr+time.Minute-1, 1)},
			},
			observed: 11, allowed: 10,
		},
		"fixed, before its anchor": {
			rules:    []Rule{Fixed(0, 10, hr, may.Add(1000*hr+time.Minute), may)},
			legal:    []Entry{take(time.Minute-1, 10), take(time.Minute, 10), take(hr+time.Minute, 10)},
			broken:   map[string][]Entry{"a nanosecond": {take(-hr, 1), take(time.Minute, 10), take(hr+time.Minute-1, 1)}},
			observed: 11, allowed: 10,
		},
		"fixed, a day of 23 h": {
			rules:    []Rule{Fixed(0, 10, 24*hr, spring.AddDate(0, 0, -40), spring)},
			legal:    []Entry{take(-1, 10), take(0, 4), take(23*hr-1, 6), take(23*hr, 10), take(47*hr, 10)},
			broken:   map[string][]Entry{"a nanosecond": {take(-1, 10), take(0, 10), take(23*hr-1, 1)}},
			observed: 11, allowed: 10,
		},
		"fixed, a day of 25 h": {
			rules:    []Rule{Fixed(0, 10, 24*hr, autumn.AddDate(0, 0, 40), autumn)},
			legal:    []Entry{take(-1, 10), take(0, 4), take(25*hr-1, 6), take(25*hr, 10)},
			broken:   map[string][]Entry{"a nanosecond": {take(0, 10), take(0, 0), take(25*hr-1, 1)}},
			observed: 11, allowed: 10,
		},
		"fixed, a week": {
			rules:    []Rule{Fixed(0, 10, 7*24*hr, time.Date(2024, time.January, 1, 0, 0, 0, 0, loc), spring.AddDate(0, 0, -6))},
			legal:    []Entry{take(-1, 10), take(0, 10), take(7*24*hr-hr, 10)},
			broken:   map[string][]Entry{"a nanosecond": {take(-1, 10), take(0, 10), take(7*24*hr-hr-1, 1)}},
			observed: 11, allowed: 10,
		},
		"fixed, slack": {
			rules:    []Rule{Fixed(0, 10, hr, may, may).WithSlack(sec)},
			legal:    []Entry{take(0, 10), take(hr-1, 10), take(hr+sec-1, 10), take(hr+sec, 10)},
			broken:   map[string][]Entry{"a nanosecond": {take(hr-1, 10), take(hr+sec, 10), take(2*hr-1, 1)}},
			observed: 11, allowed: 10,
		},
		"fixed, given back": {
			rules: []Rule{Fixed(0, 10, hr, may, may)},
			legal: []Entry{take(0, 10), back(1, 0, 4), take(2, 4)},
			broken: map[string][]Entry{
				"a unit":            {take(0, 10), back(1, 0, 4), take(2, 5)},
				"of another period": {take(hr-1, 10), back(hr, 0, 10), take(hr, 11)},
			},
			observed: 11, allowed: 10,
		},
		"fixed, another calendar": {
			rules:    []Rule{Fixed(0, 10, hr, may, may)},
			legal:    []Entry{take(0, 10), resize(1, 0, Fixed(0, 12, 3*hr, may.Add(-sec), may)), take(2*hr, 2), take(3*hr-sec, 12)},
			broken:   map[string][]Entry{"a unit": {take(0, 10), resize(1, 0, Fixed(0, 12, 3*hr, may.Add(-sec), may)), take(3*hr-sec-1, 3)}},
			observed: 13, allowed: 12,
		},
		"concurrency": {
			rules: []Rule{Concurrency(2)},
			legal: []Entry{take(0, 1), take(1, 1), end(2, 0), take(2, 1), end(3, 3), end(3, 1), take(4, 0), take(4, 9)},
			broken: map[string][]Entry{
				"one more":       {take(0, 1), take(1, 1), take(2, 1)},
				"before its end": {take(0, 0), take(0, 0), take(2, 0), end(2, 0)},
			},
			observed: 3, allowed: 2,
		},
		"concurrency, lowered": {
			rules:    []Rule{Concurrency(3)},
			legal:    []Entry{take(0, 1), take(0, 1), resize(1, 0, Concurrency(2)), end(2, 0), take(2, 1)},
			broken:   map[string][]Entry{"at once": {take(0, 1), take(0, 1), resize(1, 0, Concurrency(2)), take(2, 1)}},
			observed: 3, allowed: 2,
		},
		"first come, first served": {
			rules:    []Rule{FIFO()},
			legal:    []Entry{ticket(1, false), ticket(4, false), ticket(0, false), ticket(1, true), ticket(5, false)},
			broken:   map[string][]Entry{"overtaken": {ticket(1, false), ticket(4, false), ticket(3, false)}},
			observed: 1, allowed: 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := both(t, tc.legal, tc.rules...)
			require.NoError(t, v.Err())
			require.NotZero(t, v.Tallies[0].Judged)
			for which, log := range tc.broken {
				t.Run(which, func(t *testing.T) {
					v := both(t, log, tc.rules...)
					require.NoError(t, v.Problem)
					require.Error(t, v.Err())
					require.Len(t, v.Violations, 1, v)
					got, by := v.Violations[0], lastAdmission(log)
					assert.Equal(t, by, got.Entry)
					assert.Equal(t, log[by].At, got.At)
					assert.InDelta(t, tc.observed, got.Observed, 1e-10*tc.observed)
					assert.InDelta(t, tc.allowed, got.Allowed, 1e-10)
					assert.Equal(t, got.Reading, v.Tallies[0].Worst)
				})
			}
		})
	}
}

func TestProblems(t *testing.T) {
	may := time.Date(2026, time.May, 4, 0, 0, 0, 0, time.UTC)
	ok := Sliding(0, 10, sec)
	for _, tc := range []struct {
		want string
		rule Rule
		log  []Entry
	}{
		{"make it with Sliding", Rule{}, []Entry{take(0, 1)}},
		{"no such unit", Sliding(5, 1, sec), []Entry{take(0, 1)}},
		{"the maximum is out of range", Sliding(0, -1, sec), nil},
		{"the period is not positive", Fixed(0, 1, 0, may, may), nil},
		{"the rate is not positive", Bucket(0, 0, sec, 1), nil},
		{"the slack is negative", ok.WithSlack(-1), nil},
		{"leaves nothing of the period", ok.WithSlack(sec), nil},
		{"the one before was at 1s", ok, []Entry{take(sec, 1), take(0, 1)}},
		{"a weight is negative", ok, []Entry{take(0, -1)}},
		{"entry 1, which is not before", ok, []Entry{take(0, 1), back(0, 1, 1)}},
		{"entry -1, which is not before", ok, []Entry{take(0, 1), end(0, -1)}},
		{"it changes no rule", ok, []Entry{resize(0, 1, ok)}},
		{"begin another log", ok, []Entry{resize(0, 0, Sliding(1, 10, sec))}},
		{"the period is not positive", Sliding(1, 0, sec), []Entry{resize(0, 0, Sliding(1, 0, -sec))}},
		{"there is no kind 9", ok, []Entry{{Kind: 9}}},
		{"more units were returned", ok, []Entry{take(0, 1), back(0, 0, 2)}},
		{"more units were returned", Fixed(0, 9, hr, may, may), []Entry{take(0, 1), back(0, 0, 2)}},
		{"more units were returned", ok, []Entry{take(0, 2), back(0, 0, 1), back(0, 0, 2)}},
		{"the call that ends", Concurrency(1), []Entry{take(0, 1), end(1, 0), end(2, 0)}},
		{"is not in flight", Concurrency(1), []Entry{take(0, 1), charge(1, 1), end(2, 1)}},
		{"have no common measure", Bucket(0, 1, 1<<62-1, 1), []Entry{take(0, 1), resize(0, 0, Bucket(0, 1, 1<<62-3, 1))}},
	} {
		t.Run(tc.want, func(t *testing.T) {
			v := both(t, tc.log, tc.rule)
			require.ErrorContains(t, v.Problem, tc.want)
			require.ErrorContains(t, v.Err(), tc.want)
			require.Zero(t, v.Count())
		})
	}
}

// TestLongLogs: windows that fill and empty at every size, with calls that are
// open for long.
func TestLongLogs(t *testing.T) {
	log := []Entry{take(0, 1), take(1, 1), take(2, 1)} // gone when the rest comes
	at := sec
	for i := range 3000 {
		at += time.Duration(i * i % 97 * ((i/500 + 1) % 6))
		log = append(log, take(at, int64(i%3)))
		if i%7 == 0 {
			log = append(log, back(at, len(log)-1, int64(i%3)))
		}
		if i%2 == 0 {
			log = append(log, end(at, len(log)-1-i%4/2))
		}
	}
	for i, e := range log {
		if e.Kind == End && log[e.Of].Kind != Admission {
			log[i] = charge(e.At, 1)
		}
	}
	v := both(t, log, Sliding(0, 60, 2000), Bucket(0, 1, 40, 50), Fixed(0, 70, 3000, time.Unix(0, 0), time.Unix(0, 7)))
	require.NoError(t, v.Problem)
	for _, tally := range v.Tallies {
		require.Positive(t, tally.Violations)
		require.Less(t, tally.Violations, tally.Judged)
	}
	require.Len(t, v.Violations, 20)
}

// TestManyInFlight: hundreds of calls at once, of which the first ends last.
func TestManyInFlight(t *testing.T) {
	var log []Entry
	var open []int
	for i := range 3000 {
		open = append(open, len(log))
		log = append(log, take(0, 1))
		for len(open) > 300*(1+i/1000%2) { // grows to 600 and shrinks again
			k := 1 + i*i%(len(open)-1)
			log = append(log, end(0, open[k]))
			open = append(open[:k], open[k+1:]...)
		}
	}
	v := both(t, log, Concurrency(601))
	require.NoError(t, v.Err())
	require.Equal(t, 601.0, v.Tallies[0].Worst.Observed)
	require.Positive(t, both(t, log, Concurrency(600)).Count())

	for len(open) > 0 {
		log, open = append(log, end(1, open[0])), open[1:]
	}
	log = append(log, take(2, 1), take(2, 1))
	last := len(log) - 1
	require.NoError(t, both(t, log, Concurrency(601)).Err())
	for _, gone := range []int{0, last - 64, last - 2} {
		log := append(slices.Clone(log), end(3, last), end(3, gone))
		require.ErrorIs(t, errors.Unwrap(both(t, log, Concurrency(601)).Problem), errNotInFlight)
	}
}

// TestGrowth: a window that grows after its first entries have left keeps the order.
func TestGrowth(t *testing.T) {
	log := []Entry{take(0, 1), take(0, 1), take(0, 1)}
	for i := range 40 {
		log = append(log, take(time.Duration(200+i), 1))
	}
	rule := Sliding(0, 100, 100)
	require.NoError(t, both(t, append(slices.Clip(log), take(310, 71)), rule).Err())
	require.Equal(t, 101.0, both(t, append(slices.Clip(log), take(310, 72)), rule).Violations[0].Observed)
}
