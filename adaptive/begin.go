package adaptive

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/throttle"
)

// Call is Do taken apart, for a call whose end is not the return of a
// function: a response whose body is read later, a stream. It goes from Admit
// to End, and back to Admit for as long as End says so.
//
//	c := limiter.Begin(cost)
//	for again := true; again; {
//		ctx, err := c.Admit(ctx)
//		if err != nil {
//			return err
//		}
//		again, err = c.End(send(ctx)) // or much later, from another goroutine
//	}
//
// Admit belongs to one goroutine at a time. End may come from any, also from
// several at once: of an attempt the first End counts.
type Call struct {
	limiter *Limiter
	cost    throttle.Cost
	wait    retryWait            // of Admit, and of the End that counts
	first   call                 // the first attempt: most calls make no other
	begun   bool                 // it has been made
	attempt atomic.Pointer[call] // nil: none is in progress
}

// Begin returns a call that costs c. Nothing is waited for before Admit, and
// nothing has to be given up if that is never called.
func (l *Limiter) Begin(c throttle.Cost) *Call { return &Call{limiter: l, cost: c} }

// Admit waits as Do does, and with the errors of Do: the first time for a permit,
// and after a refusal until the call may go again. The context that it returns is
// for the attempt: what is called under it takes the permit over on the same
// limiter, and Use and Report are heard. Each Admit without an error has to be
// followed by End.
func (c *Call) Admit(ctx context.Context) (context.Context, error) {
	permit, err := c.limiter.admit(ctx, c.cost, &c.wait)
	if err != nil {
		return nil, err
	}
	k := &c.first
	if c.begun {
		k = new(call) // who has the context of an earlier attempt may still look at it
	}
	c.begun = true
	k.begin(ctx, c.limiter, c.cost, permit)
	k.queued = c.wait.queued
	c.attempt.Store(k)
	return k, nil
}

// Heard has the law hear at once what an answer says is left, while the call
// goes on: at the end of a long stream it would be old. It reports whether the law
// has heard it. If so, leave Meters out of the Feedback of End; if not, because the law
// is no Listener or no attempt is in progress, nothing has happened.
func (c *Call) Heard(meters [throttle.Units]Meter) bool {
	k := c.attempt.Load()
	if k == nil || k.handed.Load() {
		return false
	}
	sent, live := k.permit.Sent()
	if !live {
		return false
	}
	heard := false
	c.limiter.throttle.Update(func(now time.Time) {
		var l Listener
		if l, heard = c.limiter.governor.State.(Listener); heard {
			l.OnMeters(now, sent, meters)
		}
	})
	return heard
}

// End ends the attempt: the permit is given back and the law hears f, as if it
// had been told by Report inside of Do; without a verdict f.Err is judged. again means that the
// attempt was refused and that the call keeps its place: Admit waits for its
// turn. Otherwise the call is over, and the error is the one that Do would end with: f.Err, a
// *RateLimitHit, or ErrQuotaExhausted. If no attempt is in progress, because it was ended before,
// nothing happens.
func (c *Call) End(f Feedback) (again bool, err error) {
	k := c.attempt.Swap(nil)
	if k == nil {
		return false, nil
	}
	k.last(&f)
	return c.limiter.conclude(k, &f, f.Err, &c.wait)
}
