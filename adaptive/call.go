package adaptive

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// call is one call in progress. It is the context that the call's function
// gets, so that what happens inside can find it.
type call struct {
	context.Context //nolint:containedctx // it is a context

	limiter   *Limiter
	permit    throttle.Permit
	handed    atomic.Bool // the permit was taken over by a call inside, or ended by this one
	abandoned atomic.Bool
	queued    time.Duration // how long it waited to be admitted; negative: nobody wants to know

	mu   sync.Mutex    // guards used, told, sent
	used throttle.Cost // what the call says it cost
	told *Feedback     // the last Report; nil: none
	sent throttle.Sent // what was noted of the permit, once it was taken over
}

func (l *Limiter) newCall(ctx context.Context, c throttle.Cost, p throttle.Permit) *call {
	k := new(call)
	k.begin(ctx, l, c, p)
	return k
}

func (c *call) begin(ctx context.Context, l *Limiter, cost throttle.Cost, p throttle.Permit) {
	c.Context, c.limiter, c.permit = ctx, l, p
	c.used = cost // of a permit that was taken over, another cost is reserved
}

type callKey struct{}

// Value makes the call findable by callOf.
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// takeOver hands the permit of the innermost enclosing call on l to a call
// inside it. A permit is handed over once: whoever has it ends it and reports
// to the law, and the enclosing call holds nothing any more. A call that
// Acquire would turn away at once gets nothing here either.
//
// A call that costs more than was reserved gets the enclosing call's place in
// the queue instead: that one's permit is given back, unsent.
func (l *Limiter) takeOver(ctx context.Context, cost throttle.Cost) (p throttle.Permit, from *call, place int64) {
	for c := callOf(ctx); c != nil; c = callOf(c.Context) { //nolint:contextcheck // outwards
		if c.limiter != l || c.handed.Load() {
			continue
		}
		sent, live := c.permit.Sent()
		if !live {
			continue
		}
		covered := covers(sent.Cost, cost)
		in, _ := intake.Of(ctx)
		if ctx.Err() != nil || !covered && in.Err() != nil || l.throttle.Check(cost) != nil {
			break
		}
		c.mu.Lock()
		c.sent = sent // before the permit changes hands: the enclosing call may end right then
		c.mu.Unlock()
		if !c.handed.CompareAndSwap(false, true) {
			continue
		}
		if !covered {
			f := Feedback{Verdict: Unsent}
			r := l.end(c.permit, &f, false)
			l.tellCall(c, &r, &f)
			return throttle.Permit{}, nil, sent.Seq
		}
		return c.permit, c, 0
	}
	return throttle.Permit{}, nil, 0
}

// covers reports whether a reservation is enough for a cost. The zero cost is
// that of whoever reserved.
func covers(reserved, cost throttle.Cost) bool {
	for u := range throttle.Units {
		if cost != (throttle.Cost{}) && cost.Of(u) > reserved.Of(u) {
			return false
		}
	}
	return true
}

// Use says, from inside a call, what it really cost; the limiter settles to it
// when the call ends. The last word counts. Outside a call it does nothing.
func Use(ctx context.Context, actual throttle.Cost) {
	if c := callOf(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.used = actual
	}
}

// Report says, from inside a call, what its answer taught: a verdict goes
// before that of any detector; without one the detectors are asked, and only
// Used, Meters and a RetryAfter go before theirs. The last word counts; a
// zero Used leaves an earlier Use as it is. The call is the innermost one of a
// limiter; outside of any Report does nothing, and a *RateLimitHit is the way
// to tell of a refusal.
func Report(ctx context.Context, f Feedback) {
	if c := callOf(ctx); c != nil {
		c.report(f)
	}
}

func (c *call) report(f Feedback) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Used != (throttle.Cost{}) {
		c.used = f.Used
	}
	c.told = &f
}

// Abandon gives the permit of the call in ctx back before the call has
// returned, for a supervisor whose call ignores the end of its context. It
// reports whether there was a permit to give back; a call inside on the same
// limiter may have it. When the call returns after all, it is not repeated and
// teaches the law nothing.
func Abandon(ctx context.Context) bool {
	c := callOf(ctx)
	if c == nil {
		return false
	}
	c.abandoned.Store(true)
	f := Feedback{Verdict: Transient}
	r := c.limiter.end(c.permit, &f, false)
	c.limiter.tellCall(c, &r, &f)
	return r.ended
}

// Judge returns what the limiter will make of err if the innermost call in ctx
// ends with it: what the call has reported, completed by the limiter's
// detectors. Outside of any call it is what DefaultDetector says.
func Judge(ctx context.Context, err error) Feedback {
	if c := callOf(ctx); c != nil {
		f := c.feedback()
		c.judge(&f, err)
		return f
	}
	return Classify(nil, err)
}

// last takes f for the last word of the call, in place of any Report.
func (c *call) last(f *Feedback) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Used != (throttle.Cost{}) {
		c.used = f.Used
	}
	f.Used = c.used
}

// feedback is what the call itself has reported.
func (c *call) feedback() (f Feedback) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told != nil {
		f = *c.told
	}
	f.Used = c.used
	return f
}

// judge completes what the call itself has reported by what the limiter's
// detectors make of its error.
func (c *call) judge(f *Feedback, err error) {
	if f.Verdict == Unclassified {
		told := *f
		*f = c.limiter.Classify(err)
		f.Used, f.Meters = told.Used, told.Meters
		if told.RetryAfter > 0 {
			f.RetryAfter = told.RetryAfter
		}
	}
	if f.Err == nil {
		f.Err = err
	}
}
