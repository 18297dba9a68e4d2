package learn

import "math"

// Calm stretches the cycles of a constant limit: each probe for more ends in a refusal, and a limit on which the marks agree
// needs few of them.
type Calm struct {
	Settled float64 // the rate that marks agreed about last, in units per second; 0: none yet

	share   float64 // see Part
	stretch float64
	agreed  int // marks in a row that agreed with the one before
}

const calmMost = 2 // settled cycles: the longest cycle, while marks agree

// Marked compares a measured rate with the one that was known; 0: none was.
func (c *Calm) Marked(measured, known float64) {
	if known > 0 && math.Abs(measured/known-1) < sameLevel {
		if c.agreed++; c.agreed >= enough {
			c.stretch = min(calmMost/eager(measured), 2*c.stretch)
		}
		if c.Agreed() {
			c.Settled = measured
		}
		return
	}
	c.stretch, c.agreed = 1, 0
}

// Agreed reports whether marks agree.
func (c *Calm) Agreed() bool { return c.agreed >= enough-1 }

// Cycle is how long the pace takes from one probe to the next at a rate.
func (c *Calm) Cycle(rate float64) float64 {
	if c.share > 0 {
		return c.stretch * evenCycle(rate/c.share)
	}
	return c.stretch * Cycle(rate)
}

// cycle is how long the pace takes from one probe to the next.
func (m *Machine) cycle() float64 { return m.cycleAt(m.Calls.Rate) }

// cycleAt is the same at a rate.
func (m *Machine) cycleAt(rate float64) float64 { return m.peers.Cycle(m.calm.Cycle(rate), rate) }
