package learn

import "iter"

// Rules are rules of the law, to be left out one at a time, so that a
// simulation shows what each is worth.
type Rules uint32

// The rules that can be left out.
const (
	EpochRule    Rules = 1 << iota // one cut per epoch
	GateRule                       // a refusal holds everybody back
	MeasureRule                    // the rate is measured; without it: halved
	TruthRule                      // a Retry-After is not always true
	FastRule                       // exponential growth after a proof
	FirstRule                      // fast growth until the second mark
	CalmRule                       // longer cycles while marks agree
	SpanRule                       // from one opening of a window to the next
	TrialRule                      // the first refusal without a label is taken for a cap
	NoiseRule                      // refusals that no pace prevents
	ForeignRule                    // a refusal without the label that others have is not ours
	MirrorRule                     // headers pace
	PlentyRule                     // plenty left by the headers speeds up the pace
	RestRule                       // a burst after a pause of the demand
	FollowRule                     // the bound in flight follows the pace
	CrowdRule                      // refusals where calls crowd speak against a cap
	LonelyRule                     // refusals of calls that are alone speak against a cap
	EvenRule                       // those who share a cap grow alike
	MemoryRule                     // what held before a fall is tried again
	UnderRule                      // and so is a cap that errors have refuted
	OverloadRule                   // an overload that is no exception bounds the calls in flight
	TrustRule                      // headers that promise what is refused are ignored
	DraftRule                      // more is tried than the headers leave room for
	HoverRule                      // a cap that others share is hovered at
	DarkRule                       // time in which nothing was admitted does not count
)

var ruleNames = [...]string{
	"epoch", "gate", "measure", "truth", "fast", "first", "calm", "span",
	"trial", "noise", "foreign", "mirror", "plenty", "rest", "follow",
	"crowd", "lonely", "even", "memory", "under", "overload",
	"trust", "draft", "hover", "dark",
}

// Has reports whether r is among them.
func (s Rules) Has(r Rules) bool { return s&r != 0 }

// AllRules yields every rule by its name.
func AllRules() iter.Seq2[string, Rules] {
	return func(yield func(string, Rules) bool) {
		for i, name := range ruleNames {
			if !yield(name, 1<<i) {
				return
			}
		}
	}
}
