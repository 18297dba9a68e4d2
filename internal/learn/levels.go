package learn

import "math"

// levelsKept is how many levels are distinguished: calls at higher ones count at the last.
const levelsKept = 256 // calls in flight

// Levels counts the calls that were taken by how many others were in flight.
type Levels struct {
	count [levelsKept]uint32
}

// Add notes a call.
func (l *Levels) Add(n int) {
	if c := &l.count[min(max(n, 0), len(l.count)-1)]; *c < math.MaxUint32 {
		*c++
	}
}

// Count is how many calls were noted, and how many at n or above.
func (l *Levels) Count(n int) (all, atOrAbove float64) {
	for i, c := range l.count {
		all += float64(c)
		if i >= n {
			atOrAbove += float64(c)
		}
	}
	return all, atOrAbove
}
