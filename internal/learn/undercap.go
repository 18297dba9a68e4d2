package learn

// UnderCap judges a refusal where a bound on the calls in flight hovers. grown is whether the bound had grown by a cut since the last
// one, and later how many calls left after the refused one. Cuts that growth does not make up for, down to half, are noise, or a cap
// that others use more than before: when the bound is restored, these refuse more, and noise does not. Refusals under a cap that
// others share look like noise where few calls are in flight. A share that rises with the bound is not random, and one that is
// known does not outlast a quarter of an hour, so that it has to prove itself again.
func (n *Noise) UnderCap(bound, later float64, grown bool) Opinion {
	n.turnTo(OfFlight)
	known := n.Share > 0
	switch {
	case !known && grown:
		return n.expect(bound)
	case !known && n.unexplained == 0 && bound < hoverLeast:
		return Believe
	}
	opinion := n.weigh(bound, bound, 0.5, later)
	switch {
	case opinion == Restore:
		n.most = n.Share
		n.trial.from = bound
		n.try(2 * bound)
	case opinion == Believe && known && n.trial.from > 0 && n.onTrial(later):
		return Undo
	}
	return opinion
}

// randomInFlight judges the refused call c as a random one, if a bound hovers. It raises the bound to twice where it is if those
// that have lowered it were random, and lowers it again if they were not.
func (m *Machine) randomInFlight(now float64, c Call) bool {
	f := &m.Flight
	if f.mode != hovering || f.part || !f.Claimed || m.off.Has(StrayRule) {
		return false
	}
	known, before := m.noise.Share > 0, float64(m.InFlight())
	opinion := m.noise.UnderCap(f.bound, m.sentAfter(c), f.cutsAboveLast() >= 1)
	m.noteNoNoise(now, known)
	d := Decision{At: now, Of: OfFlight, From: before}
	switch opinion {
	case Believe:
		return false
	case Ignore:
		if m.claim.noteAlone(c) {
			m.giveUpCap(now, c)
		}
		return true
	case Restore:
		f.HoverAt(2 * f.bound)
		d.Kind, d.Why = Grow, WhyNoiseInFlight
	case Undo:
		f.HoverAt(min(f.bound, m.noise.trial.from))
		d.Kind, d.Why = Cut, WhyNotYet
		m.mark(now, c)
	}
	m.rememberLevel(now, before, f.bound, false) // twice the new bound is tried next
	d.To = float64(m.InFlight())
	m.note(d)
	return true
}
