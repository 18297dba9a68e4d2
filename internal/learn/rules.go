package learn

import "iter"

// Rules are rules of the controller, to be left out one at a time, so that a
// simulation shows what each is worth.
type Rules uint32

// The rules that can be left out.
const (
	EpochRule    Rules = 1 << iota // one decision for all calls that were out together
	GateRule                       // a refusal holds every caller back
	TruthRule                      // a Retry-After is corrected by how true earlier ones were
	MeasureRule                    // the rate is measured; without it: halved
	GrowthRule                     // cycles that get longer, and exponential growth after a proof
	FollowRule                     // the bound in flight follows the pace
	WindowRule                     // from one opening of a window to the next
	CapRule                        // a refusal without a reason is a cap on trial
	HoverRule                      // the bound in flight hovers below a cap that others share
	StrayRule                      // refusals that no pace prevents, or that are not ours
	MirrorRule                     // headers hold calls back
	TrustRule                      // headers are tested, and ignored if they are untrue
	MemoryRule                     // what held before a fall is tried again
	OverloadRule                   // an overload that is no exception bounds the calls in flight
)

var ruleNames = [...]string{
	"epoch", "gate", "truth", "measure", "growth", "follow", "window",
	"cap", "hover", "stray", "mirror", "trust", "memory", "overload",
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
