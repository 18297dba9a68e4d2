package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A Summary is the median and the spread of a figure over the passes.
type Summary struct {
	Median, Min, Max float64
	N                int // how many passes measured it
}

// Summarize returns the zero Summary of no figures.
func Summarize(figures []float64) Summary {
	n := len(figures)
	if n == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(figures))
	return Summary{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1], N: n}
}

// Values are the figures of k in the passes that have one.
func Values(passes []Pass, k Key) (figures []float64) {
	for _, p := range passes {
		if v, ok := p[k]; ok {
			figures = append(figures, v)
		}
	}
	return figures
}

// Ratios are those of a to b within each pass that has both: what drifts from
// one pass to another has no part in them.
func Ratios(passes []Pass, a, b Key) (figures []float64) {
	for _, p := range passes {
		v, ok := p[a]
		w, ok2 := p[b]
		if ok && ok2 && w != 0 {
			figures = append(figures, v/w)
		}
	}
	return figures
}

// Differences are what a is more than b within each pass that has both.
func Differences(passes []Pass, a, b Key) (figures []float64) {
	for _, p := range passes {
		v, ok := p[a]
		w, ok2 := p[b]
		if ok && ok2 {
			figures = append(figures, v-w)
		}
	}
	return figures
}

// String is the median with the spread, if there is one: "0.45 (0.41..0.52)".
func (s Summary) String() string {
	if s.N == 0 {
		return ""
	}
	median, least, most := short(s.Median), short(s.Min), short(s.Max)
	if least == most {
		return median
	}
	return fmt.Sprintf("%s (%s..%s)", median, least, most)
}

// short keeps the first two or three digits, and whole numbers as they are.
func short(v float64) string {
	switch {
	case v == math.Trunc(v):
		return grouped(v)
	case math.Abs(v) < 0.1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case math.Abs(v) < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case math.Abs(v) < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return grouped(math.Round(v))
	}
}

// grouped writes a whole number with commas.
func grouped(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
