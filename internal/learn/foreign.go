package learn

// Foreign recognizes refusals that are about a limit other than the rate, so that they do not lower it.
type Foreign struct {
	asksUntil float64 // until then, refusals of the rate are expected to have a Retry-After
	recent    float64 // refusals about another limit of late
	last      int64   // the call that was refused last with quota left
}

const (
	foreignMost  = handful // refusals about another limit: if more are remembered, they are about the rate
	foreignEvery = handful // calls with which one of these is forgotten
)

// Sent notes a call.
func (f *Foreign) Sent() { f.recent = max(0, f.recent-1.0/foreignEvery) }

// Count notes a refusal about another limit. It reports whether these keep coming, so that they are about the rate after all.
func (f *Foreign) Count() (tooMany bool) {
	if f.recent++; f.recent <= foreignMost {
		return false
	}
	f.recent = 0
	return true
}

// passForeign lets a refusal about another limit cause no more than a short pause.
func (m *Machine) passForeign(now float64) {
	m.Door.PauseForeign(now, m.luck.Float64())
	m.note(Decision{At: now, Kind: Verdict, Why: WhyForeign})
}

// unnamedUnderCap reports a refusal without a reason, a wait or meters, under a cap that refusals name: it is not due to the cap.
func (m *Machine) unnamedUnderCap(now float64, r *Refusal) bool {
	return m.Flight.Claimed && m.claim.Named(now) && r.Names == Unnamed && !r.asksToWait() && !r.hasMeters() && !m.off.Has(StrayRule)
}

// judgeForeign reports a refusal that looks different from those of the rate, so that the rate must not answer it: its meters show
// something left, or it has neither them, nor a name, nor a Retry-After although those of the rate had one lately. If more of the
// latter come than random rejections explain, refusals of the rate have come to look like that.
func (m *Machine) judgeForeign(now float64, c Call, r *Refusal) bool {
	bare := !r.hasMeters() && r.Names == Unnamed && now < m.foreign.asksUntil
	if bare && m.foreign.Count() {
		m.foreign.asksUntil, bare = 0, false
		m.note(Decision{At: now, Kind: Verdict, Why: WhyAlike})
	}
	return !m.off.Has(StrayRule) && (bare || r.showsRoom(c.Tokens) && m.spans.Window == 0)
}

// foreignShut notes that the call c was refused with quota left, and reports whether no call has got through since the last such
// refusal, so that a limit that the headers do not describe is used up.
func (m *Machine) foreignShut(now float64, c Call) bool {
	passed, known := m.tally.fates.Passed(m.foreign.last, c.Seq, now-2*m.Door.rtt)
	m.foreign.last = max(m.foreign.last, c.Seq)
	return known && !passed && m.Door.foreign > 0
}

// openRate is how many calls per second were admitted before the provider shut, no more than the pace of calls. While other calls
// are in flight, a cap may be what rejects the call c, so probes are no further apart than the longest pause.
func (m *Machine) openRate(c Call) float64 {
	rate := m.tally.Until(m.spans.shut)
	if m.Calls.On {
		rate = min(rate, m.Calls.Rate)
	}
	if c.Others >= 2 {
		rate = max(rate, 1/(probeShare*longestPause))
	}
	return rate
}
