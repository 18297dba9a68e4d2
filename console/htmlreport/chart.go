package htmlreport

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/svg"
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
	most = svg.Ceil(max(1, most), 1, 2, 4) // of which the half is easy to read too
	x := svg.Scale{Most: float64(end), From: left, To: right}
	y := svg.Scale{Most: most, From: bottom, To: top}

	c := chart{Unit: unit}
	for _, of := range curves {
		c.Lines = append(c.Lines, line{of, pieces(at, of, &x, &y)})
	}
	for _, v := range []float64{0, most / 2, most} {
		c.Rules = append(c.Rules, mark{svg.Short(y.Place(v)), strconv.FormatFloat(v, 'g', 4, 64)})
	}
	for i := range ticks + 1 {
		d := end * time.Duration(i) / ticks
		if end > math.MaxInt64/ticks {
			d = end / ticks * time.Duration(i)
		}
		c.Times = append(c.Times, mark{svg.Short(x.Place(float64(d))), span(d)})
	}
	for i, n := range refused[:min(len(refused), len(at))] {
		if n > 0 {
			c.Events = append(c.Events, mark{svg.Short(x.Place(float64(at[i]))), fmt.Sprintf("refusals until %s: %d", span(at[i]), n)})
		}
	}
	return c
}

func pieces(at []time.Duration, c curve, x, y *svg.Scale) (all []string) {
	points := make([]svg.Point, min(len(c.values), len(at)))
	for i := range points {
		points[i] = svg.Point{X: x.Place(float64(at[i])), Y: y.Place(finite(c.values[i]))}
		if c.gaps && finite(c.values[i]) == 0 {
			points[i].Y = math.NaN()
		}
	}
	for _, piece := range svg.Pieces(points) {
		if len(piece) == 1 { // a line of one point is not seen
			piece = append(slices.Clip(piece), piece[0])
		}
		places := make([]string, len(piece))
		for i, p := range piece {
			places[i] = svg.Short(p.X) + "," + svg.Short(p.Y)
		}
		all = append(all, strings.Join(places, " "))
	}
	return all
}

// finite is v, or 0 for what is no number or below 0.
func finite(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
