package guard

import (
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
)

// conclude ends the attempt k, which returned f.Err. What else f says takes
// precedence over what the attempt has reported.
func (c *Call) conclude(k *attempt, f *adaptive.Feedback) (again bool, err error) {
	err = f.Err
	if !k.close(f) {
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
	c.guard.emitOverdue(k.Context)
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

// finish releases what k holds and reports to the laws: the learner receives f, the others only that the call has ended. If a
// call inside has taken over the permit of a layer, that call has reported its own answers, and only what it cannot have seen
// is reported here. r becomes the result of the learner. The attempt is closed: no permit is handed over from now on.
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
	news := !f.Final && (refused(f.Verdict) || f.Verdict == adaptive.Terminal) // what is final passed through the call inside
	var ended *Guard                                                           // the learner, if its permit has
	for i := range k.parts {
		p := &k.parts[i]
		learner := p.guard == k.call.guard.learner
		switch {
		case p.handed != nil:
			if learner && news {
				p.guard.learn(r, p.handed, f, observed)
			}
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
	l := c.guard.learner
	if c.once || l == nil || l.remote == nil && l.outwaits(f) { // without a learner there is no pause to wait out
		return false, hit
	}
	return true, nil
}

var _ inflight.Attempt = (*attempt)(nil)
