package adaptive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// Do makes one call through the limiter: it waits for a permit, runs fn, ends
// the permit and tells the law how it went. Its error is fn's, but for these:
//
//   - A refusal for rate (Hit, Overloaded) is not an error yet: the call gives
//     up its slot, waits at the gate with its place in the queue and runs fn
//     again. After Config.MaxWait the error is a *RateLimitHit; when ctx ends
//     during the wait, it matches both the cause of ctx and the *RateLimitHit.
//     One that is Feedback.Final is not sent again: the error is fn's.
//   - A deadline of ctx, or of its intake, that is before the earliest possible
//     admission is a *throttle.DeadlineError at once. While waiting to go again
//     it matches the *RateLimitHit too.
//   - A provider that asks for more than ten minutes closes the limiter for
//     that long: this call and all that wait or follow fail with its *RateLimitHit.
//   - A used-up quota closes the limiter: this call and all that wait or
//     follow fail with ErrQuotaExhausted until Reset.
//   - A cost that can never fit fails with a *throttle.CostError, unsent.
//
// Calls nest: the first Do on the same limiter inside fn takes the permit
// over, so a bound of two is two however deep the calls go. A smaller cost of
// its own replaces the one that was reserved when it ends; for a larger one it
// gives the permit back and waits at its place in the queue. A panic of fn ends
// the permit and goes on.
func (l *Limiter) Do(ctx context.Context, c throttle.Cost, fn func(context.Context) error) error {
	var wait retryWait
	for {
		again, err := l.attempt(ctx, c, fn, &wait)
		if !again {
			return err
		}
	}
}

// retryWait is what a refused call remembers until it goes again.
type retryWait struct {
	hit   *RateLimitHit // the last refusal; nil before the first
	since time.Time     // the first refusal
	place int64         // the sequence number of the first admission, which may be an enclosing call's

	observed bool          // somebody is told what changes by the call
	queued   time.Duration // how long this attempt waited to be admitted; negative: nobody wants to know
	outer    time.Duration // how long the call waited whose permit this attempt has taken over
}

// attempt makes the call once; again means that it was refused and waits on.
func (l *Limiter) attempt(ctx context.Context, c throttle.Cost, fn func(context.Context) error, wait *retryWait) (again bool, err error) {
	permit, err := l.admit(ctx, c, wait)
	if err != nil {
		return false, err
	}
	k := l.newCall(ctx, c, permit)
	k.queued = wait.queued
	returned := false
	defer func() {
		if !returned && k.handed.CompareAndSwap(false, true) {
			f := Feedback{Used: k.feedback().Used}
			r := l.end(permit, &f, false)
			l.tellCall(k, &r, &f)
		}
	}()
	err = fn(k) //nolint:contextcheck // k is ctx
	returned = true
	f := k.feedback()
	return l.conclude(k, &f, err, wait)
}

// conclude ends the attempt k, which came to err and has taught f.
func (l *Limiter) conclude(k *call, f *Feedback, err error, wait *retryWait) (again bool, _ error) {
	k.judge(f, err)
	r := l.finish(k, f, wait.observed)
	l.tell(k.Context, &r, f)
	switch {
	case f.Verdict == Terminal:
		return false, l.exhausted(f.Err)
	case !f.Verdict.refused() || f.Final || !r.ended:
		return false, err
	}
	return l.refused(f, &r, wait)
}

// admit is enter, for those who want to know how long that takes.
func (l *Limiter) admit(ctx context.Context, c throttle.Cost, wait *retryWait) (throttle.Permit, error) {
	o := event.From(ctx)
	wait.observed, wait.queued, wait.outer = o != nil || l.observer != nil, -1, 0
	if !l.calls && !emit.WantsCalls(o) {
		return l.enter(ctx, c, wait)
	}
	asked := l.clock.Now()
	p, err := l.enter(ctx, c, wait)
	if wait.queued = wait.outer + max(0, l.clock.Now().Sub(asked)); err != nil {
		l.sendCall(ctx, event.Call{Queued: wait.queued, Outcome: event.Unadmitted})
	}
	return p, err
}

// enter gets the permit for an attempt: from an enclosing call on the same
// limiter, from the queue, or from the call's earlier place in it.
func (l *Limiter) enter(ctx context.Context, c throttle.Cost, wait *retryWait) (throttle.Permit, error) {
	hit := wait.hit
	if hit == nil {
		p, outer, place := l.takeOver(ctx, c)
		if outer != nil {
			wait.outer = max(0, outer.queued)
			return p, nil
		}
		wait.place = place
	}
	ctx, done := intake.Waiting(ctx)
	defer done()
	switch {
	case hit == nil && wait.place != 0:
		return l.throttle.Reacquire(ctx, c, wait.place)
	case hit == nil:
		return l.throttle.Acquire(ctx, c)
	}
	left := l.cfg.Load().MaxWait - l.clock.Now().Sub(wait.since)
	if left <= 0 && ctx.Err() == nil { // Reacquire tells of a ctx that has ended
		return throttle.Permit{}, hit
	}
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := l.clock.AfterFunc(left, func() { cancel(hit) })
	defer timer.Stop()
	p, err := l.throttle.Reacquire(waiting, c, wait.place)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = fmt.Errorf("%w while waiting to go again: %w", context.Cause(ctx), hit)
	case errors.As(err, new(*throttle.DeadlineError)):
		err = fmt.Errorf("%w, after: %w", err, hit)
	}
	return p, err
}

// finish ends the call's permit and tells the law, unless a call inside has
// taken the permit over: that one has told about its own answers, and only
// what it cannot have seen is news. An abandoned call has nothing to end and
// nothing to say.
func (l *Limiter) finish(k *call, f *Feedback, observed bool) (r result) {
	if k.abandoned.Load() {
		return r
	}
	if k.handed.CompareAndSwap(false, true) {
		r = l.end(k.permit, f, observed)
		l.tellCall(k, &r, f)
		return r
	}
	if f.Final || !f.Verdict.refused() && f.Verdict != Terminal {
		return r // what is final passed through the call inside
	}
	k.mu.Lock()
	sent := k.sent
	k.mu.Unlock()
	l.throttle.Update(func(now time.Time) { l.result(&r, now, &sent, f, observed) })
	return r
}

// refused decides whether the call waits on, and with what it ends if not.
func (l *Limiter) refused(f *Feedback, r *result, wait *retryWait) (again bool, err error) {
	hit := newHit(l.name, f, r.sent.At)
	hit.GivenUp = true // seen from outside Do it is final
	if wait.hit == nil {
		wait.since = r.now
		if wait.place == 0 {
			wait.place = r.sent.Seq
		}
	}
	wait.hit = hit
	if f.tooLong() {
		return false, hit
	}
	return true, nil
}

func (l *Limiter) exhausted(err error) error {
	if err == nil {
		return fmt.Errorf("%w: limiter %q", ErrQuotaExhausted, l.name)
	}
	return fmt.Errorf("%w: limiter %q: %w", ErrQuotaExhausted, l.name, err)
}
