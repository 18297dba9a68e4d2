package chart

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/simulate/scenario"
	"github.com/headrace/headrace/internal/svg"
)

// panel is one of the drawings above each other.
type panel struct {
	title  string
	height float64
	top    float64 // the highest value on its scale
	log    bool
	lines  []line
}

// line is what is drawn in a panel, in seconds and values.
type line struct {
	label  string
	class  string // of its colour, in the style of the picture
	bars   bool   // an upright for each point instead of a line
	points []svg.Point
}

const (
	smooth   = 5    // seconds that admissions are averaged over
	headroom = 1.12 // above the highest value
	tallest  = 2    // times the highest limit: what is beyond is cut off
	least    = 0.5  // of the scale of refusals, so that one of them is seen
)

// panels are what is to be seen of f.
func (f *Film) panels() []panel {
	return []panel{f.admitted(), f.paces(), f.flight(), f.refused()}
}

func (f *Film) admitted() panel {
	every := max(1, int(smooth/f.Every.Seconds()))
	length := float64(every) * f.Every.Seconds()
	var points []svg.Point
	for i := 0; i+every <= f.frames(); i += every {
		sum := 0.0
		for k := i; k < i+every; k++ {
			sum += f.sum(k, func(t *Track, k int) float64 { return float64(t.Admitted[k]) })
		}
		points = append(points, svg.Point{X: f.second(i) + length/2 - f.Every.Seconds(), Y: sum / length})
	}
	name := "what the provider allows in the long run"
	if f.ByCap {
		name = "what the cap comes to (cap / round trip)"
	}
	p := panel{title: "admitted, calls per second", height: 110}
	p.lines = []line{{label: fmt.Sprintf("mean of %g s", length), class: "admitted", points: points}}
	if len(f.Rate) > 0 {
		p.lines = append(p.lines, f.limit(name, f.Rate, 1))
	}
	return p.scaled(f.Rate)
}

func (f *Film) paces() panel {
	p := panel{title: "learned pace, calls per second", height: 110}
	mine, limit := "the pace", "what the provider allows in the long run"
	if n := len(f.Tracks); n > 1 {
		mine, limit = fmt.Sprintf("the pace of each of %d processes", n), "an equal share of what the provider allows"
	}
	for i := range f.Tracks {
		p.lines = append(p.lines, line{label: mine, class: "pace", points: f.points(f.Tracks[i].pace)})
		mine = ""
	}
	if len(f.Rate) > 0 && !f.ByCap {
		p.lines = append(p.lines, f.limit(limit, f.Rate, float64(len(f.Tracks))))
	}
	if f.paceless() {
		return panel{title: p.title, lines: []line{{label: "none was learned", class: "pace"}}}
	}
	return p.scaled(f.Rate)
}

// pace is that of frame i; none is a gap.
func (t *Track) pace(i int) float64 {
	if t.Pace[i] == 0 {
		return math.NaN()
	}
	return t.Pace[i]
}

// paceless reports whether no process ever learned a pace.
func (f *Film) paceless() bool {
	for i := range f.frames() {
		if f.sum(i, func(t *Track, i int) float64 { return t.Pace[i] }) > 0 {
			return false
		}
	}
	return true
}

func (f *Film) flight() panel {
	p := panel{title: "in flight, calls", height: 110}
	p.lines = []line{
		{label: "the window", class: "window", points: f.points(func(i int) float64 {
			return f.sum(i, func(t *Track, i int) float64 { return t.Window[i] })
		})},
		{label: "on the wire", class: "flight", points: f.points(func(i int) float64 {
			return f.sum(i, func(t *Track, i int) float64 { return float64(t.InFlight[i]) })
		})},
	}
	if len(f.Cap) > 0 {
		p.lines = append(p.lines, f.limit("the provider's cap", f.Cap, 1))
	}
	if len(f.Cap) == 0 { // a window far above what is used is not worth the room
		return p.scaled([]scenario.Step{{Limit: highest(p.lines[1].points)}})
	}
	return p.scaled(f.Cap)
}

func (f *Film) refused() panel {
	points := f.points(func(i int) float64 {
		return f.sum(i, func(t *Track, i int) float64 { return float64(t.Refused[i]) }) / f.Every.Seconds()
	})
	share := 0.0
	if f.Attempts > 0 {
		share = 100 * float64(f.Refused) / float64(f.Attempts)
	}
	return panel{
		title: "refused, calls per second (log scale)", height: 56, log: true,
		top: max(10, headroom*highest(points)),
		lines: []line{{
			label: fmt.Sprintf("%d of %d attempts, %.2f %%", f.Refused, f.Attempts, share),
			class: "refused", bars: true, points: points,
		}},
	}
}

// second is when frame i was looked at.
func (f *Film) second(i int) float64 { return float64(i) * f.Every.Seconds() }

// points are a value in each frame.
func (f *Film) points(value func(i int) float64) []svg.Point {
	all := make([]svg.Point, f.frames())
	for i := range all {
		all[i] = svg.Point{X: f.second(i), Y: value(i)}
	}
	return all
}

// limit is the line of a limit, divided by so many.
func (f *Film) limit(label string, steps []scenario.Step, by float64) line {
	l := line{label: label, class: "limit"}
	for i, s := range steps {
		end := f.length()
		if i+1 < len(steps) {
			end = steps[i+1].At
		}
		l.points = append(l.points, svg.Point{X: s.At.Seconds(), Y: s.Limit / by}, svg.Point{X: end.Seconds(), Y: s.Limit / by})
	}
	return l
}

// scaled sets the top of p: its highest value, if that is not far above every limit.
func (p panel) scaled(limits []scenario.Step) panel {
	for _, l := range p.lines {
		p.top = max(p.top, highest(l.points))
	}
	limit := 0.0
	for _, s := range limits {
		limit = max(limit, s.Limit)
	}
	if limit > 0 {
		p.top = min(p.top, tallest*limit)
	}
	over := false
	for i := len(p.lines) - 1; i >= 0; i-- { // a line without a label goes by the one before it
		l := &p.lines[i]
		if over = over || highest(l.points) > p.top; over && l.label != "" {
			l.label += ", cut off at the top"
		}
		over = over && l.label == ""
	}
	p.top = max(1, headroom*p.top)
	return p
}

func highest(points []svg.Point) (y float64) {
	for _, p := range points {
		if p.Y > y {
			y = p.Y
		}
	}
	return y
}
