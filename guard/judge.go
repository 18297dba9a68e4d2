package guard

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/reopening"
)

// Judge implements inflight.Attempt.
func (k *attempt) Judge(err error) adaptive.Feedback {
	f := k.feedback()
	k.judge(&f, err)
	f.Used = cmp.Or(f.Used, k.call.cost)
	return f
}

// Detect implements inflight.Attempt.
func (k *attempt) Detect(err error) adaptive.Feedback {
	f := k.feedback()
	if f.Verdict == adaptive.Unclassified {
		judged(&f, k.call.guard.askFirst(err))
	}
	return f
}

// judge completes what the attempt itself has reported by what the detectors
// make of its error.
func (k *attempt) judge(f *adaptive.Feedback, err error) {
	if !known(f.Verdict) { // it is the caller's
		f.Verdict = adaptive.Unclassified
	}
	if err != nil && panicked(err) { // whatever the function reported before, or panicked with
		f.Verdict, f.RetryAfter = adaptive.Transient, 0
	}
	switch {
	case f.Verdict != adaptive.Unclassified:
	case err == nil:
		f.Verdict, f.Kind, f.Source, f.Final, f.Err = adaptive.OK, adaptive.UnknownKind, "", false, nil
	default:
		judged(f, adaptive.Classify(k.call.guard.detect, err))
	}
	if f.Err == nil {
		f.Err = err
	}
	f.RetryAfter = max(f.RetryAfter, 0)
}

// known reports whether v is one of the constants of its type.
func known(v adaptive.Verdict) bool { return v <= adaptive.Unsent }

// judged completes what was reported without a verdict by the detectors' d.
func judged(f *adaptive.Feedback, d adaptive.Feedback) {
	d.Used, d.Meters, d.Final = f.Used, f.Meters, d.Final || f.Final
	if f.RetryAfter > 0 {
		d.RetryAfter = f.RetryAfter
	}
	*f = d
}

// tooLong reports whether the provider asks for so long a wait that it may be
// an error: a call looks sooner.
func tooLong(f *adaptive.Feedback) bool {
	return refused(f.Verdict) && f.RetryAfter > adaptive.MaxRetryAfter
}

// outwaits reports whether the provider asks for a longer wait than the calls of g make.
// A remote guard decides that itself: it may not believe the wait.
func (g *Guard) outwaits(f *adaptive.Feedback) bool { return tooLong(f) && f.RetryAfter > g.maxWait() }

// patience is how long no call gets through before the key is closed.
func (g *Guard) patience() time.Duration { return max(defaultMaxWait, g.maxWait()) }

// newHit describes the rejection f of a call that was admitted at sentAt.
func newHit(scope string, f *adaptive.Feedback, sentAt time.Time) *adaptive.RateLimitHit {
	h := &adaptive.RateLimitHit{
		Kind: f.Kind, RetryAfter: min(f.RetryAfter, reopening.MostSaid), Scope: scope,
		Source: f.Source, SentAt: sentAt, Cause: f.Err,
	}
	if own := hitIn(f.Err); own != nil && own.Scope != "" {
		h.Scope = own.Scope
	}
	return h
}

// hitIn returns the outermost hit in err, or nil. Errors with methods that panic contain none.
func hitIn(err error) (h *adaptive.RateLimitHit) {
	defer func() { _ = recover() }()
	h, _ = errors.AsType[*adaptive.RateLimitHit](err)
	return h
}

// scope names what rejected a call: the guard that learns.
func (g *Guard) scope() string {
	if g.learner != nil {
		return g.learner.name
	}
	return g.name
}

func (g *Guard) exhausted(err error) error {
	if err == nil {
		return fmt.Errorf("%w: guard %q", adaptive.ErrQuotaExhausted, g.scope())
	}
	return fmt.Errorf("%w: guard %q: %w", adaptive.ErrQuotaExhausted, g.scope(), err)
}
