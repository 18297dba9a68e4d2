package svg_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/svg"
)

func TestScale(t *testing.T) {
	s := svg.Scale{Least: 0, Most: 10, From: 100, To: 0}
	for v, want := range map[float64]float64{0: 100, 5: 50, 10: 0, 99: 0, -1: 100} {
		assert.InDelta(t, want, s.Place(v), 1e-9, "%g", v)
	}
	log := svg.Scale{Least: 1, Most: 100, From: 0, To: 2, Log: true}
	assert.InDelta(t, 1, log.Place(10), 1e-9)
	assert.InDelta(t, 0, log.Place(0), 1e-9)
}

func TestMarksAreRoundAndFew(t *testing.T) {
	for _, c := range []struct {
		svg.Scale
		want []float64
	}{
		{svg.Scale{Most: 11.2}, []float64{0, 5, 10}},
		{svg.Scale{Most: 22}, []float64{0, 5, 10, 15, 20}},
		{svg.Scale{Most: 1}, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{svg.Scale{Most: 224}, []float64{0, 50, 100, 150, 200}},
		{svg.Scale{Least: 0.5, Most: 120, Log: true}, []float64{1, 10, 100}},
	} {
		assert.InDeltaSlice(t, c.want, c.Marks(), 1e-9)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := svg.Scale{Most: rapid.Float64Range(0.01, 1e6).Draw(t, "most")}
		n := len(s.Marks())
		assert.True(t, n >= 3 && n <= 6, "%d marks up to %g", n, s.Most)
	})
}
