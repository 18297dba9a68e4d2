package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// conclude ends the attempt k, which returned err and reported f.
func (c *Call) conclude(k *attempt, f *adaptive.Feedback, err error) (again bool, _ error) {
	k.judge(f, err)
	c.charge(k, f)
	if !k.close() {
		return false, err // it was abandoned
	}
	k.settleBreakers(f.Verdict, err)
	r := k.finish(f, c.wait.observed)
	k.unhold()
	l := c.guard.learner
	if l != nil {
		l.emitResult(k, &r, f)
	}
	if w := inflight.WatcherOf(k.Context); w != nil {
		w.Judged(*f, err)
	}
	switch {
	case f.Verdict == adaptive.Terminal:
		return false, c.guard.exhausted(f.Err)
	case refused(f.Verdict) && !f.Final && r.ended:
		return c.rejected(k, f, &r)
	}
	return c.repeats(k.Context, f, err), err
}

// finish ends what k holds and tells the laws: the learner hears f, and the
// others no more than that the call is over. Of a layer whose permit a call
// inside has taken over, that call has reported its own answers, and only what
// it cannot have seen is news. The result is that of the learner.
func (k *attempt) finish(f *adaptive.Feedback, observed bool) (r result) {
	other := adaptive.Feedback{Verdict: adaptive.Transient, Used: f.Used}
	if f.Verdict == adaptive.OK || f.Verdict == adaptive.Unsent {
		other.Verdict = f.Verdict
	}
	if k.loose != nil {
		return k.finishLoose(f, observed)
	}
	if k.call.guard.chain != nil {
		k.finishShared(f)
	}
	r.ended = len(k.parts) == 0
	for i := range k.parts {
		p := &k.parts[i]
		learner := p.guard == k.call.guard.learner
		switch handed := k.isHanded(p); {
		case handed && (!learner || f.Final || !refused(f.Verdict) && f.Verdict != adaptive.Terminal):
			p.seq = p.sent.Seq // what is final passed through the call inside
		case handed:
			r = p.guard.learn(p.sent, f, observed)
			p.seq = p.sent.Seq
		case learner:
			r = p.guard.end(p.permit, f, observed)
			p.seq = r.sent.Seq
			p.guard.emitEnd(k, &r, f)
		default:
			p.seq = p.guard.end(p.permit, &other, false).sent.Seq
		}
	}
	return r
}

func (k *attempt) isHanded(p *part) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return p.handed
}

// rejected decides whether a call that the provider rejected waits on, and with
// what it ends if not.
func (c *Call) rejected(k *attempt, f *adaptive.Feedback, r *result) (again bool, err error) {
	hit := newHit(c.guard.scope(), f, r.sent.At)
	hit.GivenUp = true // seen from outside of Do it is final
	if c.wait.hit == nil {
		c.wait.since = c.guard.clock.Now()
		for i := range k.parts {
			if seq := k.parts[i].seq; seq != 0 {
				c.place(k, i, seq)
			}
		}
	}
	c.wait.hit = hit
	if tooLong(f) {
		return false, hit
	}
	return true, nil
}

// scope names what rejected a call: the guard that learns.
func (g *Guard) scope() string {
	if g.learner != nil {
		return g.learner.name
	}
	return g.name
}

// tooLong reports whether the provider asks for a longer wait than a call makes.
func tooLong(f *adaptive.Feedback) bool {
	return refused(f.Verdict) && f.RetryAfter > adaptive.MaxRetryAfter
}

// newHit describes the rejection f of a call that was admitted at sentAt.
func newHit(scope string, f *adaptive.Feedback, sentAt time.Time) *adaptive.RateLimitHit {
	h := &adaptive.RateLimitHit{
		Kind: f.Kind, RetryAfter: f.RetryAfter, Scope: scope,
		Source: f.Source, SentAt: sentAt, Cause: f.Err,
	}
	if own := hitIn(f.Err); own != nil && own.Scope != "" {
		h.Scope = own.Scope
	}
	return h
}

// hitIn returns the outermost hit in err, or nil. Errors whose methods panic
// hold none.
func hitIn(err error) (h *adaptive.RateLimitHit) {
	defer func() { _ = recover() }()
	h, _ = errors.AsType[*adaptive.RateLimitHit](err)
	return h
}

func (g *Guard) exhausted(err error) error {
	if err == nil {
		return fmt.Errorf("%w: guard %q", adaptive.ErrQuotaExhausted, g.scope())
	}
	return fmt.Errorf("%w: guard %q: %w", adaptive.ErrQuotaExhausted, g.scope(), err)
}

// Judge implements inflight.Attempt.
func (k *attempt) Judge(err error) adaptive.Feedback {
	f := k.feedback(nil)
	k.judge(&f, err)
	return f
}

// judge completes what the attempt itself has reported by what the detectors
// make of its error.
func (k *attempt) judge(f *adaptive.Feedback, err error) {
	if f.Verdict == adaptive.Unclassified {
		told := *f
		*f = adaptive.Classify(k.call.guard.detect, err)
		f.Used, f.Meters, f.Final = told.Used, told.Meters, f.Final || told.Final
		if told.RetryAfter > 0 {
			f.RetryAfter = told.RetryAfter
		}
	}
	if f.Err == nil {
		f.Err = err
	}
}

// Abandon implements inflight.Attempt.
func (k *attempt) Abandon(hung error) bool { return k.call.abandon(k, adaptive.Transient, hung) }

// abandon returns what k holds before its function has returned.
func (c *Call) abandon(k *attempt, v adaptive.Verdict, hung error) (held bool) {
	if !k.close() {
		return false
	}
	k.cancelBreakers(hung)
	f := adaptive.Feedback{Verdict: v, Used: k.feedback(nil).Used}
	if c.guard.chain != nil {
		k.finishShared(&f)
	}
	for i := range k.parts {
		p := &k.parts[i]
		if k.isHanded(p) {
			continue
		}
		one := p.guard.end(p.permit, &f, false)
		if p.guard == c.guard.learner {
			p.guard.emitEnd(k, &one, &f)
		}
		held = held || one.ended
	}
	k.unhold()
	return held || len(k.parts) == 0
}

// result is what came of telling a law how a call went. It is filled in under
// the limiter's lock and sent to observers after it.
type result struct {
	ended  bool // false: the permit had ended before
	now    time.Time
	sent   throttle.Sent
	before int64          // decisions by then, if there is an observer
	after  *adaptive.View // nil: there is none, or nothing to say
}

// end ends p with f and reports to the law.
func (g *Guard) end(p throttle.Permit, f *adaptive.Feedback, observed bool) (r result) {
	if f.Verdict == adaptive.Unsent { // the law hears of it through OnUnsent
		p.CancelThen(func(now time.Time, s throttle.Sent) { r = result{ended: true, now: now, sent: s} })
	} else {
		p.End(f.Used, func(now time.Time, s throttle.Sent) { g.report(&r, now, &s, f, observed) })
	}
	return r
}

// learn tells the law about a call whose permit another call has ended.
func (g *Guard) learn(sent throttle.Sent, f *adaptive.Feedback, observed bool) (r result) {
	g.throttle.Update(func(now time.Time) { g.report(&r, now, &sent, f, observed) })
	return r
}

// report tells the law f, and fills in r. It runs under the limiter's lock.
func (g *Guard) report(r *result, now time.Time, s *throttle.Sent, f *adaptive.Feedback, observed bool) {
	r.ended, r.now, r.sent = true, now, *s
	law := g.governor
	if law == nil {
		return
	}
	if refused(f.Verdict) || f.Verdict == adaptive.Terminal {
		g.free.Store(false)
	}
	if refused(f.Verdict) && law.state == nil {
		g.wake(now, s)
	}
	if observed {
		r.before = law.told
	}
	law.result(now, *s, f)
	switch {
	case f.Verdict == adaptive.Terminal:
		g.throttle.CloseLocked(now.Add(law.quota.exhausted()), g.exhausted(f.Err))
	case tooLong(f): // for every call, and for no longer than a provider can mean
		hit := newHit(g.name, f, s.At)
		hit.GivenUp = true
		until := now.Add(min(f.RetryAfter, longestClosing))
		if gate := law.view().GateUntil; gate.After(until) && gate.Before(now.Add(longestClosing)) {
			until = gate
		}
		g.throttle.CloseLocked(until, hit)
	}
	if observed {
		after := law.view()
		if law.told = after.Decisions.Count; law.told != r.before || refused(f.Verdict) || f.Verdict == adaptive.Terminal {
			news := after // which is rare, and what the pointer is to is allocated
			r.after = &news
		}
	}
}

// longestClosing bounds how long a provider's word closes a guard.
const longestClosing = 31 * 24 * time.Hour

// wake starts the law of a lazy guard at its first rejected call.
func (g *Guard) wake(now time.Time, s *throttle.Sent) {
	law := g.current.Load().atFirst(max(s.InFlight+1, g.loose.inFlight()))
	if state, err := law.Start(now, seed); err == nil { // it is valid
		g.governor.start(state, g.throttle.TotalLocked())
	}
}

var _ inflight.Attempt = (*attempt)(nil)
