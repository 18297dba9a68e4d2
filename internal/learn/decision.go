package learn

// Decision is one thing that the machine decided.
type Decision struct {
	At       float64
	Kind     Kind
	Of       Value
	From, To float64
	Wait     float64 // seconds until calls may go on
	Why      Why
}

// Kind is what kind of decision.
type Kind uint8

// What can be decided.
const (
	Cut Kind = iota
	Grow
	Gate
	Probe
	Verdict
)

// Value is what was changed.
type Value uint8

// What can be changed.
const (
	OfFlight Value = iota
	OfCalls
	OfTokens
)

// Why is the reason of a decision.
type Why uint8

// The reasons.
const (
	WhyRate Why = iota
	WhyFirst
	WhyCap
	WhyNoise
	WhyForeign
	WhyWindow
	WhyStillShut
	WhyOverload
	WhySignal
	WhyRose
	WhyMore
	WhyProbe
	WhyBefore
	WhyNotYet
	WhyUntrue
	WhyDraft
	WhyLow
	WhyStale
	WhyNoNoise
	WhyAlike
	WhySlow
	WhyGrows
	WhySpan
	WhyNoSpan
	WhyTrue
	WhyFactor
	WhyFined
)

var reasons = [...]string{ //nolint:gochecknoglobals // a table
	WhyFirst:     "requests per second: what got through of the calls that left at first",
	WhyRate:      "requests per second: what got through between two refusals is the rate",
	WhyCap:       "refusals without a reason come at one number of calls in flight: taken for a cap",
	WhyNoise:     "requests per second: refusals come at any pace: taken for noise",
	WhyForeign:   "a refusal that does not look like those for rate: taken for none of ours",
	WhyWindow:    "requests per second: what a window lets through from one opening to the next is the rate",
	WhyStillShut: "nothing has got through since the last refusal: probes with one call",
	WhyOverload:  "the service as a whole is full",
	WhySignal:    "", // the caller of Signal gives the reason
	WhyRose:      "more is taken than was measured: the limit has risen",
	WhyMore:      "tries more than was measured",
	WhyProbe:     "one call tries whether the provider is open again",
	WhyBefore:    "tries what held before the limit fell",
	WhyNotYet:    "calls at the earlier limit are still rejected",
	WhyUntrue:    "calls are rejected although the headers show quota left: ignores the headers",
	WhyDraft:     "tries whether more is taken than the headers show to be left",
	WhyFined:     "rejected calls delay the next admission: waits for that, too",
	WhyLow:       "more is taken than the headers show to be left: ignores the headers",
	WhyStale:     "no response has said for a quarter of an hour how much quota is left: forgets the headers",
	WhyNoNoise:   "there have been no refusals for long, or too many, for noise: the next one counts",
	WhyAlike:     "refusals that do not look like those for rate keep coming: taken for ours",
	WhySlow:      "the provider asks for no faster growth: nothing grows",
	WhyGrows:     "the time without growth that the provider asked for is over",
	WhySpan:      "seconds: the provider shuts when a window is used up: taken to count in windows of that length",
	WhyNoSpan:    "more is taken than a window held: taken to count in none",
	WhyTrue:      "the headers are used again",
	WhyFactor:    "times what a Retry-After asks for: how long the provider has really been shut",
}

// Reason is the reason in words.
func (d *Decision) Reason() string { return reasons[d.Why] }

func (m *Machine) note(d Decision) {
	if m.decide != nil {
		m.decide(d)
	}
}
