package learn

import "math"

// Peers decides whether other processes use the same limit.
//
// A slow limit that is not shared admits what was measured, even after it has fallen. If marks keep coming soon, and each finds somewhat
// less, other processes have used what the rejected calls needed. Each mark would lower the rate, and most of a slow limit would
// remain unused: shorter cycles prevent that.
//
// The marks of a fast limit that is not shared find nearly the same, or something quite different if the limit has moved. Those of a shared
// one keep differing by a few percent. The cycles of a fast rate are shorter the faster it is, so the process that has most of a shared
// limit would grow first, and gain even more: longer cycles prevent that.
type Peers struct {
	signs   evidence // marks that other processes explain
	expires float64  // when these are too old
}

const (
	peersCalls = handful     // calls of the longest cycle
	peersSame  = cautious    // of the known rate: a measurement that is no lower has found the same
	peersLeast = memoryFell  // of the known rate: a lower measurement shows that the limit has fallen
	peersSoon  = recent      // calls since a mark in which the next one is too soon for a limit that stays
	peersFast  = eagerCalls  // units per second: the cycles of a faster rate are shortened
	peersNear  = climbBy / 2 // of the known rate: a smaller difference between fast marks counts as none
	peersFar   = 1 - backOff // of the known rate: a larger one is due to a limit that has moved
	peersMost  = 2 * enough  // of the marks that show this, at most, count
)

// Marked compares the rate after a mark with the one before, when so many calls had left since the mark before.
func (p *Peers) Marked(now, rate, before, calls float64) {
	sign, says := slowSign(rate/before, before, calls)
	if before > peersFast {
		sign, says = fastSign(rate/before, calls)
	}
	if !says {
		return
	}
	p.signs.note(sign)
	p.signs = min(peersMost, p.signs)
	if sign {
		p.expires = now + remembered
	}
}

// slowSign reports whether a mark that found part of a rate is a sign of others at slow rates, and whether it says anything.
func slowSign(part, before, calls float64) (sign, says bool) {
	sign = part < peersSame && calls <= peersSoon && before < 1
	return sign, !sign || part >= peersLeast // else the limit has fallen
}

// fastSign is the same at fast rates.
func fastSign(part, calls float64) (sign, says bool) {
	off := math.Abs(part - 1)
	return off > peersNear, off < peersFar && calls > peersSoon
}

// Found reports whether other processes seem to use the limit.
func (p *Peers) Found() bool { return p.signs >= enough }

// Expire forgets what is too old, and reports whether other processes seemed to use the limit until then.
func (p *Peers) Expire(now float64) (ended bool) {
	if now < p.expires {
		return false
	}
	ended, p.signs = p.Found(), 0
	return ended
}

// Cycle adapts the cycle of a rate: a fast one is not shortened while it is shared.
func (p *Peers) Cycle(cycle, rate float64) float64 {
	switch {
	case !p.Found():
		return cycle
	case rate < 1:
		return min(cycle, max(cycleShortest, peersCalls/max(rate, leastRate)))
	}
	return max(cycle, settled(rate))
}

// weighPeers takes in what the measured rate shows of other processes.
func (m *Machine) weighPeers(now float64, c Call, measured float64) {
	before := m.peers.Found()
	fast, calls := m.Calls.Rate > peersFast, float64(c.Seq-m.tally.mark.Seq)
	switch {
	case m.calm.share > 0, m.Tokens.On && !fast, m.spans.Window > 0: // these explain it
		m.peers.signs = 0
	case m.Calls.rested: // what came in during a pause is not known
	case !fast:
		m.peers.Marked(now, min(measured, m.Calls.Pace()), m.Calls.Rate, calls)
	case !m.Calls.Rising() && m.Calls.Next() == 0: // a 429 that comes sooner may be random
		m.peers.Marked(now, measured, m.Calls.Rate, calls)
	}
	if found := m.peers.Found(); found != before {
		why := WhyAlone
		if found {
			why = WhyBeside
		}
		m.note(Decision{At: now, Kind: Verdict, Why: why})
	}
}
