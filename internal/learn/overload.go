package learn

// Overload distinguishes a service that is full from occasional failures, which are
// no evidence that too much is sent.
type Overload struct {
	share float64 // of the calls of late
	since float64 // when most was noted
	most  float64 // calls in flight then
}

// Source of these: the families of providers in internal/simulate.
const (
	overloadRare = 2.0 / recent // a share that we do not cause
	overloadSpan = 10           // seconds in which an overload halves the calls in flight, at most
)

// Taken notes a call that was taken.
func (o *Overload) Taken() { o.share *= 1 - 1.0/recent }

// Refused notes one that was not.
func (o *Overload) Refused() { o.share = min(1, o.share+1.0/recent) }

// Rare reports whether they come so rarely that nothing follows from them.
func (o *Overload) Rare() bool { return o.share < overloadRare }

// From is what calls in flight are to be cut from, by backOff, when there are
// so many.
func (o *Overload) From(now, inFlight float64) float64 {
	if o.most == 0 || now > o.since+overloadSpan {
		o.since, o.most = now, inFlight
	}
	return max(inFlight, 0.5*o.most/backOff)
}

// answerOverload waits and, if such refusals are no exception, bounds the calls in
// flight, once an epoch. It is no measurement: pace and mark stay.
func (m *Machine) answerOverload(now float64, c Call, r *Refusal) {
	m.overload.Refused()
	fresh := m.epoch.before(c)
	rate := 0.0
	if m.overload.Rare() {
		rate = m.speed()
	}
	m.Door.Overloaded(now, c.At, r.Asked, rate, m.overload.share, m.luck.Float64(), fresh)
	if !fresh || m.overload.Rare() || m.off.Has(OverloadRule) {
		return
	}
	before := m.InFlight()
	if m.failTrials(now, c) {
		m.beginEpoch(now)
		return
	}
	if before <= several && 2*(c.Others+1) <= before { // few are in flight anyway, and fewer would not have helped
		return
	}
	m.levels.Fell(now, float64(before))
	m.Flight.Signal(backOff, m.overload.From(now, float64(before)))
	m.beginEpoch(now)
	m.note(Decision{At: now, Kind: Cut, Of: OfFlight, From: float64(before), To: float64(m.InFlight()), Why: WhyOverload})
}
