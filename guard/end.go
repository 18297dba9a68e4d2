package guard

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// conclude ends the attempt k, which returned err. With given f is taken in
// place of what it has reported.
func (c *Call) conclude(k *attempt, f *adaptive.Feedback, given bool, err error) (again bool, _ error) {
	if !k.close(f, given) {
		return false, err // it was abandoned
	}
	ended := false
	defer func() {
		if !ended { // a detector or a law has panicked, or ended the goroutine
			k.release()
		}
	}()
	k.judge(f, err)
	c.charge(k, f)
	k.settleBreakers(f.Verdict, err)
	var r result
	k.finish(&r, f, c.wait.observed)
	k.unhold()
	ended = true
	for _, l := range c.guard.layers {
		l.emitFailed(k.Context)
	}
	if l := c.guard.learner; l != nil {
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

// release ends what user code has kept others from ending. A permit, a claim and
// a ticket end once.
func (k *attempt) release() {
	defer k.cancelBreakers(nil)
	if k.call.guard.chain != nil {
		k.finishShared(&adaptive.Feedback{Verdict: adaptive.Transient})
	}
	for i := range k.parts {
		if p := &k.parts[i]; p.handed == nil {
			p.guard.giveUp(p.permit)
		}
	}
	k.unhold()
}

// finish ends what k holds and tells the laws: the learner hears f, and the
// others no more than that the call is over. Of a layer whose permit a call
// inside has taken over, that call has reported its own answers, and only what
// it cannot have seen is news. r becomes the result of the learner. The attempt
// is closed: nothing is handed over any more.
func (k *attempt) finish(r *result, f *adaptive.Feedback, observed bool) {
	if k.loose != nil {
		k.finishLoose(r, f, observed)
		return
	}
	if f.Verdict == adaptive.Unsent {
		for i := range k.parts {
			if k.parts[i].outer != nil {
				k.returnPart(i)
			}
		}
	}
	if k.call.guard.chain != nil {
		k.finishShared(f)
	}
	r.ended = len(k.parts) == 0
	var ended *Guard // the learner, if its permit has
	for i := range k.parts {
		p := &k.parts[i]
		learner := p.guard == k.call.guard.learner
		switch handed := p.handed != nil; {
		case handed && (!learner || f.Final || !refused(f.Verdict) && f.Verdict != adaptive.Terminal):
			p.seq = p.handed.Seq // what is final passed through the call inside
		case handed:
			p.guard.learn(r, p.handed, f, observed)
			p.seq = p.handed.Seq
		case learner:
			p.guard.end(r, p.permit, f, observed)
			p.seq = r.sent.Seq
			ended = p.guard
		default:
			other := adaptive.Feedback{Verdict: adaptive.Transient, Used: f.Used}
			if f.Verdict == adaptive.OK || f.Verdict == adaptive.Unsent {
				other.Verdict = f.Verdict
			}
			var one result
			p.guard.end(&one, p.permit, &other, false)
			p.seq = one.sent.Seq
		}
	}
	if ended != nil { // an observer may end the goroutine
		ended.emitEnd(k, r, f)
	}
}

// rejected decides whether a call that the provider rejected waits on, and with
// what it ends if not.
func (c *Call) rejected(k *attempt, f *adaptive.Feedback, r *result) (again bool, err error) {
	hit := newHit(c.guard.scope(), f, r.sent.At)
	hit.GivenUp = true // seen from outside of Do it is final
	if c.wait.hit == nil {
		c.wait.since = c.guard.clock.Elapsed()
		for i := range k.parts {
			if seq := k.parts[i].seq; seq != 0 {
				c.place(k, i, seq)
			}
		}
	}
	c.wait.hit = hit
	if tooLong(f) || c.once || c.guard.learner == nil { // without a learner there is no pause to wait out
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
	f := k.feedback()
	k.judge(&f, err)
	f.Used = cmp.Or(f.Used, k.call.cost)
	return f
}

// judge completes what the attempt itself has reported by what the detectors
// make of its error.
func (k *attempt) judge(f *adaptive.Feedback, err error) {
	if err != nil && panicked(err) { // whatever the function reported before, or panicked with
		f.Verdict, f.RetryAfter = adaptive.Transient, 0
	}
	switch {
	case f.Verdict != adaptive.Unclassified:
	case err == nil:
		f.Verdict, f.Kind, f.Source, f.Final, f.Err = adaptive.OK, adaptive.UnknownKind, "", false, nil
	default:
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
	f.RetryAfter = min(max(f.RetryAfter, 0), longestRetryAfter)
}

// Abandon implements inflight.Attempt.
func (k *attempt) Abandon(hung error) bool { return k.call.abandon(k, hung) }

// abandon returns what k holds before its function has returned.
func (c *Call) abandon(k *attempt, hung error) (held bool) {
	var f adaptive.Feedback
	if !k.close(&f, false) {
		return false
	}
	defer k.cancelBreakers(hung) // an observer may end the goroutine
	if c.loose != nil {
		c.loose.leave()
	}
	f = adaptive.Feedback{Verdict: adaptive.Transient, Used: f.Used}
	c.charge(k, &f)
	if c.guard.chain != nil {
		k.finishShared(&f)
	}
	var learned result
	for i := range k.parts {
		p := &k.parts[i] // a call inside may have taken the permit over: it ends once
		var one result
		p.guard.end(&one, p.permit, &f, false)
		if p.guard == c.guard.learner {
			learned = one
		}
		held = held || one.ended
	}
	k.unhold()
	if l := c.guard.learner; l != nil {
		l.emitEnd(k, &learned, &f)
	}
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

// end ends p with f, reports to the law, and fills in r.
func (g *Guard) end(r *result, p throttle.Permit, f *adaptive.Feedback, observed bool) {
	now := g.engine.Lock()
	defer g.engine.Serve()
	if f.Verdict == adaptive.Unsent { // the law learns it through OnUnsent
		if sent, ended := g.engine.Retract(p); ended { // Stats does not count it
			*r = result{ended: true, now: now, sent: sent}
		}
	} else if sent, ended := g.engine.End(p, f.Used); ended {
		g.note(now.Sub(sent.At))
		g.report(r, now, &sent, f, observed)
	}
}

// note adds to the average of how long calls take, in which the last eight
// weigh about as much as all before. It runs under the limiter's lock.
func (g *Guard) note(d time.Duration) {
	mean := g.lasted.Load()
	if mean == 0 {
		mean = int64(d)
	}
	g.lasted.Store(mean + (int64(d)-mean)/8)
}

// learn tells the law about a call whose permit another call has ended.
func (g *Guard) learn(r *result, sent *throttle.Sent, f *adaptive.Feedback, observed bool) {
	g.update(func(now time.Time) { g.report(r, now, sent, f, observed) })
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
	law.result(now, s, f)
	if refused(f.Verdict) && law.state == nil { // the law has panicked: another one hears it
		g.wake(now, s)
		law.result(now, s, f)
	}
	if refused(f.Verdict) {
		g.gate.Store(max(g.gate.Load(), law.view().GateUntil.UnixNano()))
	}
	switch {
	case f.Verdict == adaptive.Terminal:
		g.engine.Close(now.Add(law.quota.exhausted()), g.exhausted(f.Err))
	case tooLong(f): // for every call
		hit := newHit(g.name, f, s.At)
		hit.GivenUp = true
		until := now.Add(f.RetryAfter)
		if gate := law.view().GateUntil; gate.After(until) && gate.Before(now.Add(2*longestRetryAfter)) {
			until = gate
		}
		g.engine.Close(until, hit)
		if f.RetryAfter == longestRetryAfter { // it may have been longer
			law.quota.probeNext()
		}
	}
	if observed {
		after := law.view()
		if law.told = after.Decisions.Count; law.told != r.before || refused(f.Verdict) || f.Verdict == adaptive.Terminal {
			news := after // which is rare, and what the pointer is to is allocated
			r.after = &news
		}
	}
}

// longestRetryAfter bounds how long a Retry-After counts, and keeps it within what
// an HTTP header can hold. After that time one call probes.
const longestRetryAfter = 24 * time.Hour

// wake starts the law of a lazy guard at its first rejected call.
func (g *Guard) wake(now time.Time, s *throttle.Sent) {
	law := g.current.Load().atFirst(max(s.InFlight+1, g.loose.inFlight()))
	if state, err := law.Start(now, seed); err == nil { // it is valid
		g.governor.start(state, g.engine.Total())
	}
}

var _ inflight.Attempt = (*attempt)(nil)
