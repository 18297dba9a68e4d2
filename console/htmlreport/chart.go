package htmlreport

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The size of a chart, in units of its drawing.
const (
	width, height            = 720, 160
	left, right, top, bottom = 48, 708, 10, 138
	ticks                    = 4 // parts of the time axis
)

// curve is what is drawn of one column.
type curve struct {
	Label  string
	Class  string // its colour
	values []float64
	gaps   bool // 0 is "none" and is not drawn
}

// chart is a drawing, ready for the template.
type chart struct {
	Unit   string
	Lines  []line
	Rules  []mark // horizontal, with their value
	Times  []mark // vertical
	Events []mark // refusals
}

// line is a curve, in pieces.
type line struct {
	curve

	Pieces []string // "x,y x,y ..."
}

// mark is a place on an axis, and its text.
type mark struct{ At, Text string }

// plot draws curves over the same moments, and the moments with refusals. A column that is too
// short, which flow does not make, ends early.
func plot(unit string, at []time.Duration, refused []int64, curves ...curve) chart {
	end := max(at[len(at)-1], 1)
	most := 0.0
	for _, c := range curves {
		for _, v := range c.values {
			if !math.IsInf(v, 0) {
				most = max(most, finite(v))
			}
		}
	}
	most = nice(most)
	x := func(d time.Duration) float64 { return left + (right-left)*min(1, max(0, float64(d)/float64(end))) }
	y := func(v float64) float64 { return bottom - (bottom-top)*min(1, max(0, v/most)) }

	c := chart{Unit: unit}
	for _, of := range curves {
		c.Lines = append(c.Lines, line{of, pieces(at, of, x, y)})
	}
	for _, v := range []float64{0, most / 2, most} {
		c.Rules = append(c.Rules, mark{short(y(v)), strconv.FormatFloat(v, 'g', 4, 64)})
	}
	for i := range ticks + 1 {
		d := end * time.Duration(i) / ticks
		if end > math.MaxInt64/ticks {
			d = end / ticks * time.Duration(i)
		}
		c.Times = append(c.Times, mark{short(x(d)), span(d)})
	}
	for i, n := range refused[:min(len(refused), len(at))] {
		if n > 0 {
			c.Events = append(c.Events, mark{short(x(at[i])), fmt.Sprintf("refusals until %s: %d", span(at[i]), n)})
		}
	}
	return c
}

func pieces(at []time.Duration, c curve, x func(time.Duration) float64, y func(float64) float64) (all []string) {
	var points []string
	end := func() {
		if len(points) == 1 { // a line of one point is not seen
			points = append(points, points[0])
		}
		if len(points) > 0 {
			all = append(all, strings.Join(points, " "))
		}
		points = nil
	}
	for i, v := range c.values[:min(len(c.values), len(at))] {
		if v = finite(v); v == 0 && c.gaps {
			end()
			continue
		}
		points = append(points, short(x(at[i]))+","+short(y(v)))
	}
	end()
	return all
}

// finite is v, or 0 for what is no number or below 0.
func finite(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// nice is the next of 1, 2, 4, 10, 20, 40 and so on, from 1 on, so that its half is easy to read too.
func nice(v float64) float64 {
	if v <= 1 {
		return 1
	}
	step := math.Pow(10, math.Floor(math.Log10(v)))
	for _, by := range []float64{1, 2, 4} {
		if v <= by*step {
			return by * step
		}
	}
	return 10 * step
}

func short(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
