package adaptive

import (
	"math"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/decisions"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/learn"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// Measured finds what the provider really allows: it measures the rate between
// two 429s instead of halving, limits calls in flight only where 429s show such
// a limit, and reads the headers of responses. docs/adaptive.md describes it.
type Measured struct {
	Initial       int             // calls in flight at the start; default 4, at most Max
	Max           int             // calls in flight; default 200, or the rate of Prior times 20 s; at most 2^30
	Prior         throttle.Limits // where learning starts
	IgnoreHeaders bool            // learn from 429s only

	without learn.Rules
	share   float64 // of what the provider allows, in (0, 1); 0: all of it
}

const (
	defaultInitial = 4
	defaultMax     = 200
	longCall       = 20 // seconds: no longer answer has to hold back the rate of a Prior
	firstBurst     = 32 // calls in flight up to which the quota of a Prior of minutes is sent without waiting for its rate
)

// WithDefaults returns the controller with its defaults filled in.
func (m Measured) WithDefaults() Measured {
	if m.Max == 0 { // Little's law
		m.Max = max(defaultMax, int(math.Ceil(min(widest, longCall*lowest(m.Prior, throttle.Requests)))))
	}
	m.Max = min(m.Max, widest)
	if m.Initial == 0 {
		m.Initial = min(max(defaultInitial, m.Prior.Concurrency), m.Max)
	}
	return m
}

// Validate joins all problems, each a *fault.FieldError.
func (m Measured) Validate() error {
	m = m.WithDefaults()
	p := invalid.Problems{Owner: "adaptive: Measured"}
	if m.Max < 1 {
		p.Addf("Max", "%d is below 1", m.Max)
	} else if m.Initial < 1 || m.Initial > m.Max {
		p.Addf("Initial", "%d is not between 1 and Max, which is %d", m.Initial, m.Max)
	}
	p.AddPart("Prior", m.Prior.Validate())
	return p.Err()
}

// Without leaves out rules, for the project's simulator.
func (m Measured) Without(rules learn.Rules) Measured {
	m.without = rules
	return m
}

// Start implements Law.
func (m Measured) Start(now time.Time, seed uint64) (State, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return m.start(now, seed, learn.Saved{}), nil
}

func (m Measured) start(now time.Time, seed uint64, saved learn.Saved) *measured {
	m = m.WithDefaults()
	s := &measured{base: now}
	s.machine = learn.New(learn.Config{
		Initial:    float64(m.Initial),
		Max:        float64(m.Max),
		Blind:      m.IgnoreHeaders,
		CallRate:   lowest(m.Prior, throttle.Requests),
		TokenRate:  lowest(m.Prior, throttle.Tokens),
		CallBurst:  atOnce(m.Prior, throttle.Requests),
		TokenBurst: atOnce(m.Prior, throttle.Tokens),
		Few:        firstBurst,
		Share:      m.share,
		Seed:       seed,
		Off:        m.without,
		Saved:      saved,
		Decide:     s.decide,
	})
	return s
}

// lowest is the rate per second of the window of u that allows the least, 0 if there is none.
func lowest(lim throttle.Limits, u throttle.Unit) (rate float64) {
	for _, w := range lim.Windows {
		if r := w.Rate(); w.Unit() == u && (rate == 0 || r < rate) {
			rate = r
		}
	}
	return rate
}

// atOnce is how much of u all windows of lim admit at once. It is 0 if one of them is
// shorter than a minute: then spacing calls from the start costs little.
func atOnce(lim throttle.Limits, u throttle.Unit) (most float64) {
	for _, w := range lim.Windows {
		if w.Unit() != u {
			continue
		}
		if w.Kind() != throttle.TokenBucket && w.Per() < time.Minute {
			return 0
		}
		if n := float64(w.Max()); most == 0 || n < most {
			most = n
		}
	}
	return most
}

// measured is the state of one limiter: it puts the machine's seconds and
// amounts into the terms of the limiter.
type measured struct {
	machine *learn.Machine
	base    time.Time
	hits    int64
	cuts    int64
	raises  int64
	decided decisions.Log
}

func (s *measured) seconds(t time.Time) float64 { return t.Sub(s.base).Seconds() }

func (s *measured) time(seconds float64) time.Time { return s.base.Add(nanoseconds(seconds)) }

// endless is a wait, in seconds, that only an event ends: a year.
const endless = 365 * 24 * 3600

// duration rounds up, so that a wait of this length is long enough.
func duration(seconds float64) time.Duration {
	if seconds >= endless {
		return throttle.Forever
	}
	return nanoseconds(seconds)
}

func nanoseconds(seconds float64) time.Duration {
	return time.Duration(math.Ceil(seconds * float64(time.Second)))
}

func (s *measured) call(x *throttle.Sent) learn.Call {
	return learn.Call{
		Seq: x.Seq, At: s.seconds(x.At), Others: x.InFlight,
		Tokens: float64(x.Cost.Of(throttle.Tokens)), Total: float64(x.Total.Tokens),
	}
}

// Admit implements throttle.Governor.
func (s *measured) Admit(now time.Time, c throttle.Cost, inFlight int) time.Duration {
	return duration(s.machine.Wait(s.seconds(now), float64(c.Of(throttle.Tokens)), inFlight))
}

// Slack implements throttle.Governor.
func (s *measured) Slack(now time.Time) { s.machine.Slack(s.seconds(now)) }

// OnSend implements throttle.Governor.
func (s *measured) OnSend(_ time.Time, x throttle.Sent) { s.machine.Sent(s.call(&x)) }

// Before says that x was admitted before the first refusal, with those between the one
// before and it. The first of them is not older than the state. Package guard asserts it.
func (s *measured) Before(x throttle.Sent) { s.machine.Before(s.call(&x)) }

// OnResult implements State.
func (s *measured) OnResult(now time.Time, x throttle.Sent, inFlight int, f Feedback) {
	c := s.call(&x)
	calls, tokens := told(&f.Meters[throttle.Requests]), told(&f.Meters[throttle.Tokens])
	switch f.Verdict {
	case OK:
		used := c.Tokens
		if f.Used != (throttle.Cost{}) {
			used = float64(f.Used.Of(throttle.Tokens))
		}
		s.machine.Answered(s.seconds(now), c, learn.Answer{Used: used, InFlight: inFlight, Calls: calls, Tokens: tokens})
	case Hit, Overloaded:
		s.hits++
		if f.tooLong() {
			s.machine.Closed(s.seconds(now), c, f.SlowDown)
			return
		}
		s.machine.Refused(s.seconds(now), c, learn.Refusal{
			Asked:  f.RetryAfter.Seconds(),
			Names:  limitOf(f.Kind),
			Mild:   f.Verdict == Overloaded,
			Slow:   f.SlowDown,
			Calls:  calls,
			Tokens: tokens,
		})
	case Unsent:
		s.machine.Unsent(c)
	case Transient:
		if f.Kind == KindOverload {
			s.machine.Refused(s.seconds(now), c, learn.Refusal{Mild: true, Calls: calls, Tokens: tokens})
		}
	case Unclassified, Terminal:
	}
}

// OnMeters implements Listener.
func (s *measured) OnMeters(now time.Time, x throttle.Sent, m [throttle.Units]Meter) {
	s.machine.Heard(s.seconds(now), s.call(&x), told(&m[throttle.Requests]), told(&m[throttle.Tokens]))
}

// limitOf is the limit that k names. A detector may return any Kind.
func limitOf(k Kind) learn.Limit {
	switch k {
	case KindRequests:
		return learn.CallLimit
	case KindTokens:
		return learn.TokenLimit
	case KindConcurrency:
		return learn.FlightLimit
	case UnknownKind, KindOverload:
	}
	return learn.Unnamed
}

// longestReset bounds how long it is believed that nothing comes back: after a day a call finds out.
const longestReset = 24 * time.Hour

func told(m *Meter) learn.Told {
	return learn.Told{
		Known:     m.Known && m.Limit > 0, // some providers declare a limit of 0 where there is none
		Limit:     float64(m.Limit),
		Remaining: float64(max(0, m.Remaining)),
		Reset:     min(max(0, m.Reset), longestReset).Seconds(),
	}
}

// OnSignal implements State.
func (s *measured) OnSignal(now time.Time, h *RateLimitHit) {
	s.machine.Signal(s.seconds(now), s.seconds(h.SentAt))
}

// View implements State.
func (s *measured) View() View {
	v := View{
		Concurrency: s.machine.InFlight(), Bound: boundNames[s.machine.Bound()], GateUntil: s.time(s.machine.Door.Until),
		Hits: s.hits, Cuts: s.cuts, Recoveries: s.raises, Decisions: s.decided,
	}
	if s.machine.Calls.On {
		v.Pace[throttle.Requests] = s.machine.Calls.Pace()
	}
	if s.machine.Tokens.On {
		v.Pace[throttle.Tokens] = s.machine.Tokens.Pace()
	}
	return v
}

var (
	boundNames = [...]string{
		learn.Free: "", learn.ByGate: reopening.Bound, learn.ByProbe: "a probe that has not been answered yet",
		learn.ByFlight: "the learned concurrency", learn.ByCalls: "the learned rate of requests",
		learn.ByTokens: "the learned rate of tokens", learn.ByHeaders: "what the provider's headers say is left",
	}
	kindsOf = [...]event.Kind{ //nolint:gochecknoglobals // a table
		learn.Cut: event.LimiterCut, learn.Grow: event.LimiterRecovery, learn.Gate: event.LimiterGate,
		learn.Probe: event.LimiterProbe, learn.Verdict: event.LimiterVerdict,
	}
)

// decide notes what the machine has decided.
func (s *measured) decide(d learn.Decision) {
	switch d.Kind {
	case learn.Cut:
		s.cuts++
	case learn.Grow:
		s.raises++
	case learn.Gate, learn.Probe, learn.Verdict:
	}
	s.decided.Add(decisions.Decision{
		At: s.time(d.At), Kind: string(kindsOf[d.Kind]), From: d.From, To: d.To, Wait: duration(d.Wait), Reason: d.Reason(),
	})
}
