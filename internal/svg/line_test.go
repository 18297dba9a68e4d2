package svg_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/svg"
)

func TestThinKeepsWhatCanBeSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := make([]svg.Point, rapid.IntRange(0, 40).Draw(t, "points"))
		for i := range line {
			line[i] = svg.Point{float64(i), rapid.Float64Range(-5, 5).Draw(t, "y")}
		}
		off := rapid.Float64Range(0.01, 3).Draw(t, "off")
		before := append([]svg.Point{}, line...)
		left := svg.Thin(line, off)
		assert.Equal(t, before, line, "the line itself stays as it is")
		if len(line) == 0 {
			assert.Empty(t, left)
			return
		}
		assert.Equal(t, line[0], left[0])
		assert.Equal(t, line[len(line)-1], left[len(left)-1])
		for _, p := range line {
			nearest := math.Hypot(p.X-left[0].X, p.Y-left[0].Y)
			for i := 1; i < len(left); i++ {
				nearest = min(nearest, svg.Distance(p, left[i-1], left[i]))
			}
			assert.LessOrEqual(t, nearest, off)
		}
	})
}

func TestThinLeavesOutWhatCannot(t *testing.T) {
	straight := []svg.Point{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 0}}
	assert.Equal(t, []svg.Point{{0, 0}, {3, 3}, {4, 0}}, svg.Thin(straight, 0.1))
	there := []svg.Point{{1, 1}, {5, 5}, {1, 1}} // and back: the ends are the same place
	assert.Equal(t, there, svg.Thin(there, 0.1))
}

func TestPieces(t *testing.T) {
	gap := svg.Point{0, math.NaN()}
	a, b := svg.Point{1, 1}, svg.Point{2, 2}
	assert.Empty(t, svg.Pieces(nil))
	assert.Empty(t, svg.Pieces([]svg.Point{gap, gap}))
	assert.Equal(t, [][]svg.Point{{a, b}, {a}}, svg.Pieces([]svg.Point{gap, a, b, gap, gap, a}))
}
