package decisions

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheLastDecisionsAreKept(t *testing.T) {
	var l Log
	since := func(n int64) (reached []float64) {
		for d := range l.Since(n) {
			reached = append(reached, d.To)
		}
		return reached
	}
	assert.Empty(t, since(0))
	for i := 1; i <= 10; i++ {
		l.Add(Decision{To: float64(i)})
	}
	assert.Equal(t, int64(10), l.Count)
	assert.Equal(t, []float64{3, 4, 5, 6, 7, 8, 9, 10}, since(0), "eight are kept")
	assert.Equal(t, []float64{9, 10}, since(8))
	assert.Empty(t, since(10))
	for range l.Since(0) {
		break
	}
	assert.Len(t, slices.Collect(l.Since(9)), 1)
}
