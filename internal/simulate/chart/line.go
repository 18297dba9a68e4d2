package chart

import (
	"math"
	"slices"
)

// point is a place in a picture or, before it is scaled, a value at a second,
// which may be NaN: the line has a gap there.
type point struct{ x, y float64 }

// thin leaves out of a line what is no further than off from what is left
// (Ramer, 1972; Douglas and Peucker, 1973). Both ends stay.
func thin(line []point, off float64) []point {
	if len(line) < 3 {
		return line
	}
	first, last := line[0], line[len(line)-1]
	at, most := 0, off
	for i, p := range line {
		if d := distance(p, first, last); d > most {
			at, most = i, d
		}
	}
	if at == 0 {
		return []point{first, last}
	}
	left := thin(line[:at+1], off)
	return append(slices.Clip(left), thin(line[at:], off)[1:]...)
}

// distance is how far p is from the line from a to b.
func distance(p, a, b point) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	long := dx*dx + dy*dy
	if long == 0 {
		return math.Hypot(p.x-a.x, p.y-a.y)
	}
	along := min(1, max(0, ((p.x-a.x)*dx+(p.y-a.y)*dy)/long))
	return math.Hypot(p.x-a.x-along*dx, p.y-a.y-along*dy)
}

// pieces are the parts of a line between its gaps.
func pieces(line []point) (all [][]point) {
	begin := 0
	for i := range len(line) + 1 {
		if i < len(line) && !math.IsNaN(line[i].y) {
			continue
		}
		if i > begin {
			all = append(all, line[begin:i])
		}
		begin = i + 1
	}
	return all
}
