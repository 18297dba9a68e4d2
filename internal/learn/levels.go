package learn

import "math"

const (
	levelsKept  = 1024               // levels that are distinguished: the highest is 16,320 calls in flight and more
	levelsExact = levelsKept / 2 / 2 // calls in flight, below which each number is a level; above, one is less than a hundredth of it
)

// LevelCounts counts the calls that were taken by how many others were in flight.
type LevelCounts struct {
	count [levelsKept]uint32
}

// Add notes a call.
func (l *LevelCounts) Add(n int) {
	if c := &l.count[levelOf(n)]; *c < math.MaxUint32 {
		*c++
	}
}

// Count is how many calls were noted, and how many at n or above.
func (l *LevelCounts) Count(n int) (all, atOrAbove float64) {
	first := levelOf(n)
	for i, c := range l.count {
		all += float64(c)
		if i >= first {
			atOrAbove += float64(c)
		}
	}
	return all, atOrAbove
}

// levelOf is where calls with n others in flight are counted.
func levelOf(n int) (index int) {
	n = max(n, 0)
	for ; n >= levelsExact; n /= 2 {
		index += levelsExact / 2
	}
	return min(index+n, levelsKept-1)
}
