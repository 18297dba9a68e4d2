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

// Policy describes guarded calls. It is a plain value: copy it, change it, and
// pass it on. Every field may be left zero.
//
// Two guards made from equal policies count separately. To share a quota, share
// the Guard, by Within or by name in a registry.
type Policy struct { //nolint:recvcheck // it is large, and Validate is for literals too
	// Name identifies the guard in errors, events and reports. The default is "guard".
	Name string

	// Within lists guards that every call must pass as well. A call is admitted
	// by all of them and by this guard at the same instant; until then it holds
	// nothing. List the most specific guard first: user, host, service.
	//
	// A guard within others that has no Law, Preset, Dialect or Detector of its
	// own only adds limits: the first guard in Within learns. Retry, Timeout and
	// MaxWait that are zero here are those of the first guard that sets them.
	Within []*Guard

	// Limits are hard caps, never exceeded whatever is learned.
	Limits throttle.Limits

	// Preset names the limits that the provider documents, such as
	// presets.OpenAITier1. Learning starts there and moves both ways. A preset
	// that is a rule rather than an estimate is a hard cap.
	Preset presets.ID
	// Share is the part of the preset's limits to use, in (0, 1]. 0 means 1.
	Share float64
	// Presets is the table that Preset is looked up in. Nil means presets.Default().
	Presets *presets.Table

	// Law is the control law. Nil means adaptive.Measured, starting from Preset.
	// Without a Law and a Preset nothing bounds the calls in flight until the
	// provider rejects one.
	Law adaptive.Law
	// Dialect reads the provider's answers. Nil means the preset's, if there is one.
	Dialect dialect.Dialect
	// Detector is asked about an error before Dialect and adaptive.DefaultDetector.
	Detector adaptive.Detector

	// Store shares Limits with other processes. Name is the key there, so it must
	// not be empty, and all processes should have the same Limits. A guard and
	// those in Within can only have the same Store. Nil keeps the limits in this
	// process.
	Store quota.Store

	// MaxWait bounds how long a call waits in all: for its first admission and
	// for those after a 429. 0 means no bound on the first admission and 15
	// minutes from the first 429 on.
	MaxWait time.Duration
	// MaxQueue bounds how many calls may wait for this guard. One more fails at
	// once with a *throttle.LimitedError. 0 means no bound.
	MaxQueue int

	// Timeout bounds each attempt, from its admission to its end; in an HTTP
	// transport, to the header of the response. 0 means that only the context
	// bounds it. A function that ignores its context is abandoned one second
	// later, and its call fails with a *fault.HungError.
	Timeout time.Duration
	// Breaker stops calls to a provider that keeps failing. Nil means none.
	Breaker *breaker.Config
	// Retry repeats attempts that failed for other reasons than a rate limit.
	// Nil means one attempt. Waiting out a 429 is not an attempt.
	Retry *retry.Policy

	// Propagate signals rate-limit responses to the guard of the enclosing call,
	// such as that of the batch that runs this one. It may slow down, no call fails.
	Propagate bool

	// Observer receives the events of the guard, besides the observers in the
	// context of each call. Nil means only those.
	Observer event.Observer
	// Clock replaces the real clock in tests. Nil means the real one.
	Clock clockwork.Clock
}

// Validate reports every problem, each as a *fault.FieldError.
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
	return len(p.Within) == 0 || p.Law != nil || p.Preset != "" || p.Dialect != nil || p.Detector != nil
}
