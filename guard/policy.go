package guard

import (
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// Policy describes guarded calls. Every field may be zero. Guards of equal
// policies count separately: to share a quota, share the Guard.
type Policy struct { //nolint:recvcheck // it is large, and Validate is for literals too
	// Name identifies the guard in errors, events and reports. The default is "guard".
	Name string

	// Within lists guards that must admit every call as well, at the same
	// instant, most specific first: user, host, service. A guard within others
	// without a Law, Preset, Share, Dialect or Detector leaves learning to the first of
	// them that has one, or else to the first, and takes a Retry, Timeout or
	// MaxWait that is zero here from them.
	Within []*Guard

	// Limits are hard limits, never exceeded whatever is learned.
	Limits throttle.Limits

	// Preset names documented limits, such as presets.OpenAITier1, from which
	// learning starts. A preset that is marked hard is a hard limit, and so is one
	// of a guard with a Store: what each process learns is not shared by it.
	Preset presets.ID
	// Share is the part of what the provider allows that is for this guard, in (0, 1],
	// such as 1/n for each of n processes. It scales the preset and what headers declare,
	// and adaptive.Measured settles at an equal part of what it learns. Limits are not
	// scaled. Another Law needs a Preset. 0 means 1.
	Share float64
	// Presets is the table of Preset. Nil means presets.Default().
	Presets *presets.Table

	// Law is the control law. Nil means adaptive.Measured. Without a Law and a
	// Preset, and with a Share of 1, it starts at the first 429.
	Law adaptive.Law
	// Dialect reads the provider's answers. Nil means that of the preset.
	Dialect dialect.Dialect
	// Detector is asked about an error, or an HTTP transport's error response,
	// before Dialect and adaptive.DefaultDetector.
	Detector adaptive.Detector

	// Store shares Limits with other processes, under the key Name, which must
	// be set. A guard and those in Within have the same Store or none.
	Store quota.Store

	// MaxWait bounds all waiting of a call. The delays of Retry count too: a retry that would
	// have to wait for longer is not made, and the call returns its failure. From the first 429
	// on, the time that its function takes counts as well. 0 means no bound on the first
	// admission and 15 minutes from the first 429. A Retry-After of more than ten minutes ends all
	// calls at once, unless the MaxWait of the guard that learns is at least as long.
	// So does a refusal when no call has got through for that MaxWait, or for 15
	// minutes if that is longer.
	MaxWait time.Duration
	// MaxQueue bounds how many calls wait. One more fails at once with a
	// *throttle.LimitedError. 0 means no bound.
	MaxQueue int

	// Timeout bounds each attempt from its admission to its end or, in an HTTP
	// transport, to the response header. 0 means no bound. A function that
	// ignores its context is abandoned one second later, with a *fault.HungError.
	Timeout time.Duration
	// Breaker stops calls to a provider that keeps failing. Nil means none.
	Breaker *breaker.Config
	// Retry repeats attempts that failed for other reasons than a rate limit.
	// Nil means one attempt. Waiting out a 429 is not an attempt.
	Retry *retry.Policy

	// Propagate signals 429s to the guard of the enclosing call, such as that of
	// the batch that runs this one, which may slow down.
	Propagate bool

	// Observer receives events, besides the observers in each call's context.
	Observer event.Observer
	// Clock replaces the real clock in tests.
	Clock clockwork.Clock
}

// Validate joins all problems, each a *fault.FieldError.
func (p Policy) Validate() error {
	problems := invalid.Problems{Owner: p.owner()}
	p.check(&problems)
	_ = p.compile(&problems)
	return problems.Err()
}

// check reports what can be seen of each field alone.
func (p *Policy) check(to *invalid.Problems) {
	for i, g := range p.Within {
		if g == nil {
			to.Addf(fmt.Sprintf("Within[%d]", i), "the guard is nil: is its name registered?")
		}
	}
	p.checkStore(to)
	to.AddPart("Limits", p.Limits.Validate())
	if p.MaxWait < 0 {
		to.Addf("MaxWait", "%s is negative: use 0 for the default", p.MaxWait)
	}
	if p.MaxQueue < 0 {
		to.Addf("MaxQueue", "%d is negative: use 0 for no bound", p.MaxQueue)
	}
	if p.Timeout < 0 {
		to.Addf("Timeout", "%s is negative: use 0 for no timeout", p.Timeout)
	}
	if p.Retry != nil {
		to.AddPart("Retry", p.Retry.Validate())
	}
	if p.Breaker != nil {
		to.AddPart("Breaker", p.Breaker.Validate())
	}
}

func (p *Policy) name() string {
	if p.Name == "" {
		return "guard"
	}
	return p.Name
}

func (p *Policy) owner() string { return fmt.Sprintf("guard %q", p.name()) }

// learns reports whether the guard has a learner of its own.
func (p *Policy) learns() bool {
	return len(p.Within) == 0 || p.reads()
}

// reads reports whether the policy says how to learn.
func (p *Policy) reads() bool {
	return p.Law != nil || p.Preset != "" || p.isPart() || p.Dialect != nil || p.Detector != nil
}
