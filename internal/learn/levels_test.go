package learn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLevelsCount(t *testing.T) {
	var l LevelCounts
	for _, n := range []int{-1, 0, 2, 3, 3, 255, 256, 1000, 16319, math.MaxInt} {
		l.Add(n)
	}
	for n, want := range map[int]float64{
		0:           10, // below 0 counts as 0
		1:           8,
		2:           8,
		3:           7,
		4:           5,
		255:         5,
		256:         4,
		258:         3,
		1000:        3,
		1004:        2,
		16319:       2,
		16320:       1,
		math.MaxInt: 1, // above the last level counts as the last
	} {
		all, atOrAbove := l.Count(n)
		assert.InDelta(t, 10, all, 0)
		assert.InDelta(t, want, atOrAbove, 0, "level %d", n)
	}
}

// At 1,000 calls a second, this takes seven weeks without a rejection.
func TestLevelsDoNotOverflow(t *testing.T) {
	var l LevelCounts
	l.count[3] = math.MaxUint32
	l.Add(3)
	all, _ := l.Count(3)
	assert.InDelta(t, math.MaxUint32, all, 0)
}
