package learn

// Saved is what a machine keeps for another run.
type Saved struct {
	InFlight float64 `json:"in_flight,omitempty"` // the bound
	Claimed  bool    `json:"claimed,omitempty"`   // it is a cap
	Calls    float64 `json:"calls,omitempty"`     // per second; 0: not learned
	Tokens   float64 `json:"tokens,omitempty"`    // likewise
	Trip     float64 `json:"trip,omitempty"`      // seconds of a call
	Refusal  float64 `json:"refusal,omitempty"`   // seconds of a refusal
	PerCall  float64 `json:"per_call,omitempty"`  // tokens
	Noise    float64 `json:"noise,omitempty"`     // share of calls
	Window   float64 `json:"window,omitempty"`    // seconds
	Short    float64 `json:"short,omitempty"`     // what a Retry-After of a second is to be multiplied by; 0: 1
	Long     float64 `json:"long,omitempty"`      // likewise a longer one
}

// Scaled returns what a machine goes on with that uses a part of the limit, share.
func (s Saved) Scaled(share float64) Saved {
	for _, part := range [...]*float64{&s.Calls, &s.Tokens} {
		*part *= share
	}
	if s.InFlight > 0 {
		s.InFlight = max(1, s.InFlight*share)
	}
	return s
}

// Save returns what was learned.
func (m *Machine) Save() Saved {
	s := Saved{
		Claimed: m.Flight.Claimed, Trip: m.rtt, Refusal: m.Door.rtt, PerCall: m.tally.perCall,
		Noise: m.noise.Share, Window: m.spans.Window,
		Short: m.Door.truths[shortWait].factor, Long: m.Door.truths[longWait].factor,
	}
	if m.marked {
		s.InFlight = m.heldLevel()
	}
	if m.Calls.On {
		s.Calls = m.Calls.Rate
	}
	if m.Tokens.On {
		s.Tokens = m.Tokens.Rate
	}
	switch { // what is tried may not hold
	case m.capTried(m.at):
		s.Claimed, s.Calls, s.Tokens = false, m.capRate.before.calls, m.capRate.before.tokens
	case m.rates.Trying(m.at):
		s.Calls = m.rates.from
		if m.tokensFrom > 0 {
			s.Tokens = m.tokensFrom
		}
	}
	return s
}

// Bounds of what is restored, which may be nonsense.
const mostWindow = day // seconds of a window that are restored, at most

const (
	mostRate    = 1 / rounding // units per second: far above any real rate, and all that is computed from it is finite
	mostPerCall = mostRate     // tokens of a call that are restored, at most
	mostTrip    = remembered   // seconds of a call, at most: a process that sleeps makes it look longer
	mostRefusal = rarestProbe  // seconds until a 429 is received, at most: likewise
)

// restore goes on with what another machine has learned. Nonsense in it is brought within bounds.
func (m *Machine) restore(s *Saved) {
	if s.Calls > 0 {
		m.Calls.Expect(s.Calls, Cycle(s.Calls), false)
		m.Calls.Save(0)
	}
	if s.Tokens > 0 {
		m.Tokens.Expect(s.Tokens, Cycle(max(s.Calls, 1)), false)
		m.Tokens.Save(0)
	}
	if s.Trip > 0 {
		m.rtt = min(max(tiny, s.Trip), mostTrip)
	}
	if s.Refusal > 0 {
		m.Door.rtt = min(max(tiny, s.Refusal), mostRefusal)
	}
	m.tally.perCall = min(max(0, s.PerCall), mostPerCall)
	m.noise.Know(min(max(0, s.Noise), noisy))
	if s.Window >= interruption { // a shorter one is never measured
		m.setWindow(min(s.Window, mostWindow))
	}
	m.Door.truths[shortWait].restore(s.Short)
	m.Door.truths[longWait].restore(s.Long)
	if s.InFlight >= 1 {
		m.marked = true
		m.Flight.Cap(min(s.InFlight, m.Flight.Max), m.rtt)
		m.Flight.Claimed = s.Claimed
	}
}
