package svg

import (
	"math"
	"slices"
)

// Point is a place in a picture or, before it is scaled, a value at a moment. A
// Y of NaN is a gap in the line.
type Point struct{ X, Y float64 }

// Thin leaves out of a line what is no further than off from what is left
// (Ramer, 1972; Douglas and Peucker, 1973). Both ends stay.
func Thin(line []Point, off float64) []Point {
	if len(line) < 3 {
		return line
	}
	first, last := line[0], line[len(line)-1]
	at, most := 0, off
	for i, p := range line {
		if d := Distance(p, first, last); d > most {
			at, most = i, d
		}
	}
	if at == 0 {
		return []Point{first, last}
	}
	left := Thin(line[:at+1], off)
	return append(slices.Clip(left), Thin(line[at:], off)[1:]...)
}

// Distance is how far p is from the line from a to b.
func Distance(p, a, b Point) float64 {
	dx, dy := b.X-a.X, b.Y-a.Y
	long := dx*dx + dy*dy
	if long == 0 {
		return math.Hypot(p.X-a.X, p.Y-a.Y)
	}
	along := min(1, max(0, ((p.X-a.X)*dx+(p.Y-a.Y)*dy)/long))
	return math.Hypot(p.X-a.X-along*dx, p.Y-a.Y-along*dy)
}

// Pieces are the parts of a line between its gaps.
func Pieces(line []Point) (all [][]Point) {
	begin := 0
	for i := range len(line) + 1 {
		if i < len(line) && !math.IsNaN(line[i].Y) {
			continue
		}
		if i > begin {
			all = append(all, line[begin:i])
		}
		begin = i + 1
	}
	return all
}
