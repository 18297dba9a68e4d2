package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCalmStretchesTheCyclesOfALimitThatStays(t *testing.T) {
	type mark struct{ measured, known, stretch float64 }
	for name, marks := range map[string][]mark{
		"agreement": {{10, 10, 1}, {10, 10, 1}, {10, 10, 2}, {10, 10, 2}},
		"a high rate": {
			{48, 48, 1},
			{48, 48, 1},
			{48, 48, 2},
			{48, 48, 4},
			{48, 48, 8},
			{48, 48, 8},
			{30, 48, 1},
		},
		"within 5 percent": {{10.3, 10, 1}, {9.7, 10, 1}, {10.3, 10, 2}},
		"beyond":           {{10.6, 10, 1}, {9.4, 10, 1}, {10.6, 10, 1}, {9.4, 10, 1}},
		"a change":         {{10, 10, 1}, {10, 10, 1}, {10, 10, 2}, {5, 10, 1}, {5, 5, 1}, {5, 5, 1}, {5, 5, 2}},
		"the first mark":   {{10, 0, 1}, {10, 10, 1}, {10, 10, 1}, {10, 10, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			c := Calm{stretch: 1}
			for i, m := range marks {
				c.Marked(m.measured, m.known)
				assert.InDelta(t, m.stretch*Cycle(10), c.Cycle(10), 1e-9, "mark %d", i)
			}
		})
	}
}

// A closure begins with refusals that fit no rate. They do not undo what was known.
func TestWhatMarksAgreedAboutStaysKnown(t *testing.T) {
	c := Calm{stretch: 1}
	c.Marked(30, 0)
	c.Marked(10, 30)
	assert.Zero(t, c.Settled, "marks do not agree yet")
	c.Marked(10, 10)
	c.Marked(10.2, 10)
	assert.InDelta(t, 10.2, c.Settled, 1e-9)
	c.Marked(8, 10.2)
	assert.False(t, c.Agreed())
	assert.InDelta(t, 10.2, c.Settled, 1e-9, "until marks agree about another rate")
	c.Marked(8, 8)
	c.Marked(8, 8)
	assert.InDelta(t, 8, c.Settled, 1e-9)
}
