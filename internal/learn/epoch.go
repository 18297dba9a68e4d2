package learn

// epoch is the time since the last decision, which was one for all calls that were out.
type epoch struct {
	at   float64 // when it began
	last int64   // the last call sent by then
}

// before reports whether the call left after the epoch began. Calls of that
// very instant go by their number: a refusal may take no time at all.
func (e epoch) before(c Call) bool { return c.At > e.at || c.At == e.at && c.Seq > e.last }

func (m *Machine) beginEpoch(now float64) { m.epoch = epoch{now, m.tally.last.Seq} }

// mark begins an epoch at the refused call c, from which the next measurement begins.
func (m *Machine) mark(now float64, c Call) {
	m.beginEpoch(now)
	m.marked = true
	m.tally.Mark(c)
	m.resumed = Point{}
	m.Calls.saved, m.Tokens.saved = 0, 0 // what was saved would have been admitted
}
