package chart

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestThinKeepsWhatCanBeSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := make([]point, rapid.IntRange(0, 40).Draw(t, "points"))
		for i := range line {
			line[i] = point{float64(i), rapid.Float64Range(-5, 5).Draw(t, "y")}
		}
		off := rapid.Float64Range(0.01, 3).Draw(t, "off")
		before := append([]point{}, line...)
		left := thin(line, off)
		assert.Equal(t, before, line, "the line itself stays as it is")
		if len(line) == 0 {
			assert.Empty(t, left)
			return
		}
		assert.Equal(t, line[0], left[0])
		assert.Equal(t, line[len(line)-1], left[len(left)-1])
		for _, p := range line {
			nearest := math.Hypot(p.x-left[0].x, p.y-left[0].y)
			for i := 1; i < len(left); i++ {
				nearest = min(nearest, distance(p, left[i-1], left[i]))
			}
			assert.LessOrEqual(t, nearest, off)
		}
	})
}

func TestThinLeavesOutWhatCannot(t *testing.T) {
	straight := []point{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 0}}
	assert.Equal(t, []point{{0, 0}, {3, 3}, {4, 0}}, thin(straight, 0.1))
	there := []point{{1, 1}, {5, 5}, {1, 1}} // and back: the ends are the same place
	assert.Equal(t, there, thin(there, 0.1))
}

func TestPieces(t *testing.T) {
	gap := point{0, math.NaN()}
	a, b := point{1, 1}, point{2, 2}
	assert.Empty(t, pieces(nil))
	assert.Empty(t, pieces([]point{gap, gap}))
	assert.Equal(t, [][]point{{a, b}, {a}}, pieces([]point{gap, a, b, gap, gap, a}))
}

func TestScale(t *testing.T) {
	s := scale{least: 0, most: 10, from: 100, to: 0}
	for v, want := range map[float64]float64{0: 100, 5: 50, 10: 0, 99: 0, -1: 100} {
		assert.InDelta(t, want, s.place(v), 1e-9, "%g", v)
	}
	log := scale{least: 1, most: 100, from: 0, to: 2, log: true}
	assert.InDelta(t, 1, log.place(10), 1e-9)
	assert.InDelta(t, 0, log.place(0), 1e-9)
}

func TestMarksAreRoundAndFew(t *testing.T) {
	for _, c := range []struct {
		scale
		want []float64
	}{
		{scale{most: 11.2}, []float64{0, 5, 10}},
		{scale{most: 22}, []float64{0, 5, 10, 15, 20}},
		{scale{most: 1}, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{scale{most: 224}, []float64{0, 50, 100, 150, 200}},
		{scale{least: 0.5, most: 120, log: true}, []float64{1, 10, 100}},
	} {
		assert.InDeltaSlice(t, c.want, c.marks(), 1e-9)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := scale{most: rapid.Float64Range(0.01, 1e6).Draw(t, "most")}
		n := len(s.marks())
		assert.True(t, n >= 3 && n <= fewMarks+1, "%d marks up to %g", n, s.most)
	})
}
