package learn

// Peers decides whether other processes use the same slow limit. A limit that is not shared admits what was measured, even after it
// has fallen. If marks keep coming soon, and each finds somewhat less, other processes have used what the rejected calls needed. Each
// mark would lower the rate, and most of a slow limit would remain unused: shorter cycles prevent that.
type Peers struct {
	signs   evidence // marks that other processes explain
	expires float64  // when these are too old
}

const (
	peersCalls = handful    // calls of the longest cycle
	peersSame  = cautious   // of the known rate: a measurement that is no lower has found the same
	peersLeast = memoryFell // of the known rate: a lower measurement shows that the limit has fallen
	peersSoon  = recent     // calls since a mark in which the next one is too soon for a limit that stays
	peersMost  = 2 * enough // of the marks that show this, at most, count
)

// Marked compares the rate after a mark with the one before, when so many calls had left since the mark before.
func (p *Peers) Marked(now, rate, before, calls float64) {
	part := rate / before
	lower := part < peersSame && calls <= peersSoon && before < 1
	if lower && part < peersLeast { // the limit has fallen
		return
	}
	p.signs.note(lower)
	p.signs = min(peersMost, p.signs)
	if lower {
		p.expires = now + remembered
	}
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

// Shorten shortens the cycle of a rate that is shared.
func (p *Peers) Shorten(cycle, rate float64) float64 {
	if p.Found() && rate < 1 {
		return min(cycle, max(cycleShortest, peersCalls/max(rate, leastRate)))
	}
	return cycle
}

// weighPeers takes in what the measured rate shows of other processes.
func (m *Machine) weighPeers(now float64, c Call, measured float64) {
	before := m.peers.Found()
	switch {
	case m.calm.share > 0, m.Tokens.On, m.spans.Window > 0: // these explain it
		m.peers.signs = 0
	case !m.Calls.rested: // what came in during a pause is not known
		m.peers.Marked(now, min(measured, m.Calls.Pace()), m.Calls.Rate, float64(c.Seq-m.tally.mark.Seq))
	}
	if found := m.peers.Found(); found != before {
		why := WhyAlone
		if found {
			why = WhyBeside
		}
		m.note(Decision{At: now, Kind: Verdict, Why: why})
	}
}
