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
	WhyNoiseInFlight
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
	WhyBeside
	WhyAlone
	WhyNoRoom
	WhyRoom
	WhyNoCap
	WhyCollided
	WhyAnew
)

var reasons = [...]string{ //nolint:gochecknoglobals // a table
	WhyFirst:         "requests per second: what got through of the calls that left at first",
	WhyRate:          "requests per second: measured between two refusals",
	WhyCap:           "refusals without a reason come at one number of calls in flight: taken for a cap",
	WhyNoise:         "requests per second: refusals come at any pace: taken for random rejections",
	WhyNoiseInFlight: "calls in flight: refusals come at any number of them: taken for random rejections",
	WhyForeign:       "a refusal unlike those of the rate: taken to be about another limit",
	WhyWindow:        "requests per second: measured from one opening of a window to the next",
	WhyStillShut:     "nothing has got through since the last refusal: probes with one call",
	WhyOverload:      "the service as a whole is full",
	WhySignal:        "", // the caller of Signal gives the reason
	WhyRose:          "more is admitted than was measured: the limit has risen",
	WhyMore:          "tries more than was measured",
	WhyProbe:         "one call tries whether the provider is open again",
	WhyBefore:        "tries what held before the limit fell",
	WhyNotYet:        "calls at the earlier limit are still rejected",
	WhyUntrue:        "calls are rejected although the headers show quota left: ignores the headers",
	WhyDraft:         "tests whether more is admitted than the headers show to be left",
	WhyFined:         "rejected calls delay the next admission: waits for that, too",
	WhyLow:           "more is admitted than the headers show to be left: ignores the headers",
	WhyStale:         "no response has said for a quarter of an hour how much quota is left: forgets the headers",
	WhyNoNoise:       "random rejections have ended, or there are too many: the next one counts",
	WhyAlike:         "refusals unlike those of the rate keep coming: taken to be about it after all",
	WhySlow:          "the provider asks to slow down: nothing grows for a quarter of an hour",
	WhyGrows:         "the time without growth that the provider asked for is over",
	WhySpan:          "seconds: the provider closes when a window is used up, and seems to count in windows of this length",
	WhyNoSpan:        "more is admitted than a window held: the provider does not seem to count in windows any more",
	WhyTrue:          "the headers are used again",
	WhyBeside:        "other processes seem to use the same limit: adapts how often it probes",
	WhyAlone:         "it is no longer assumed that other processes use the limit",
	WhyNoRoom:        "the headers show more room than the rate has: it is no reason for a faster pace",
	WhyRoom:          "room in the headers is a reason for a faster pace again",
	WhyNoCap:         "a cap does not explain the rejections: gives it up",
	WhyCollided:      "another call has taken the last unit, although the headers show that more comes in: this measures no rate",
	WhyAnew:          "the headers declare a different limit: learns anew what they leave",
	WhyFactor:        "times what a Retry-After asks for: for how long the provider was really closed",
}

// Reason is the reason in words.
func (d *Decision) Reason() string { return reasons[d.Why] }

func (m *Machine) note(d Decision) {
	if m.decide != nil {
		m.decide(d)
	}
}
