package learn

import "math"

// Calm stretches the cycles of a constant limit: each probe for more ends in a refusal, and a limit on which the marks agree
// needs few of them.
type Calm struct {
	Settled float64 // the rate that marks agreed about last, in units per second; 0: none yet

	share   float64 // see Part
	until   float64 // Settled refutes caps; 0: it has refuted none
	stretch float64
	agreed  int     // marks in a row that agreed with the one before
	beside  int     // marks that calls of other processes explain, less those that they do not
	expires float64 // when these are too old
}

const calmMost = 2 // settled cycles: the longest cycle, while marks agree

// What shortens the cycles of a slow rate that others share.
const (
	besideCalls = handful    // calls of the longest cycle
	besideSame  = cautious   // of the known rate: a measurement that is no lower has found the same
	besideLeast = memoryFell // of the known rate: a lower measurement shows that the limit has fallen
	besideSoon  = recent     // calls since a mark in which the next one is too soon for a limit that stays
	besideMost  = 2 * enough // of the marks that show this, at most, count
)

// Marked compares a measured rate with the one that was known; 0: none was.
func (c *Calm) Marked(measured, known float64) {
	if known > 0 && math.Abs(measured/known-1) < sameLevel {
		if c.agreed++; c.agreed >= enough {
			c.stretch = min(calmMost/eager(measured), 2*c.stretch)
		}
		if c.Agreed() {
			c.Settled, c.until = measured, 0
		}
		return
	}
	c.stretch, c.agreed = 1, 0
}

// Beside compares the rate after a mark with the one before, when so many calls had left since the mark before. A limit that is not
// shared admits what was measured, even after it has fallen. If marks keep coming soon, and each finds somewhat less, other processes
// have used what the rejected calls needed. Each mark would lower the rate, and most of a slow limit would remain unused.
func (c *Calm) Beside(now, rate, before, calls float64) {
	if part := rate / before; part >= besideSame || calls > besideSoon || before >= 1 {
		c.beside = max(0, c.beside-1)
	} else if part >= besideLeast {
		c.beside, c.expires = min(besideMost, c.beside+1), now+remembered
	}
}

// Shared reports whether other processes seem to use the limit.
func (c *Calm) Shared() bool { return c.beside >= enough }

// Expire forgets what is too old, and reports whether other processes seemed to use the limit until then.
func (c *Calm) Expire(now float64) (ended bool) {
	if now < c.expires {
		return false
	}
	ended, c.beside = c.Shared(), 0
	return ended
}

// RefuteCap reports whether a cap is refuted because it holds less than Settled. If marks have not agreed about any rate since the
// first one, Settled is forgotten instead: it was the rate of another limit.
func (c *Calm) RefuteCap(now float64) bool {
	if c.until == 0 {
		c.until = now + remembered
	}
	if now >= c.until {
		c.Settled, c.until = 0, 0
	}
	return c.Settled > 0
}

// Agreed reports whether marks agree.
func (c *Calm) Agreed() bool { return c.agreed >= enough-1 }

// Cycle is how long the pace takes from one probe to the next at a rate.
func (c *Calm) Cycle(rate float64) float64 {
	if c.share > 0 {
		return c.stretch * evenCycle(rate/c.share)
	}
	cycle := c.stretch * Cycle(rate)
	if c.Shared() && rate < 1 {
		return min(cycle, max(cycleShortest, besideCalls/max(rate, leastRate)))
	}
	return cycle
}
