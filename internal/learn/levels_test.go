package learn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLevelsCount(t *testing.T) {
	var l Levels
	for _, n := range []int{-1, 0, 2, 3, 3, 255, 256, 1000} {
		l.Add(n)
	}
	for n, want := range map[int]float64{
		0:   8, // below 0 counts as 0
		1:   6,
		2:   6,
		3:   5,
		4:   3,
		255: 3, // above the last level counts as the last
		256: 0,
	} {
		all, atOrAbove := l.Count(n)
		assert.InDelta(t, 8, all, 0)
		assert.InDelta(t, want, atOrAbove, 0, "level %d", n)
	}
}

// At 1,000 calls a second, this takes seven weeks without a rejection.
func TestLevelsDoNotOverflow(t *testing.T) {
	var l Levels
	l.count[3] = math.MaxUint32
	l.Add(3)
	all, _ := l.Count(3)
	assert.InDelta(t, math.MaxUint32, all, 0)
}
