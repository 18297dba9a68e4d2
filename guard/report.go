package guard

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// emitResult sends what r shows, and signals a hit to the enclosing calls.
func (g *Guard) emitResult(k *attempt, r *result, f *adaptive.Feedback) {
	ctx := k.Context
	switch {
	case !r.ended:
		return
	case r.after == nil:
		if f.Verdict == adaptive.Hit {
			g.signal(k, newHit(g.name, f, r.sent.At))
		}
		return
	}
	if refused(f.Verdict) {
		g.emit(ctx, event.Event{
			Time: r.now, Kind: event.LimiterHit, Wait: max(0, r.after.GateUntil.Sub(r.now)),
			Key: refusedBy(f), Reason: f.Verdict.String() + " (" + f.Kind.String() + ")", Err: f.Err,
		})
		if f.Verdict == adaptive.Hit {
			g.signal(k, newHit(g.name, f, r.sent.At))
		}
	}
	g.emitNews(ctx, r, f)
	if refused(f.Verdict) {
		g.emitDecisions(ctx, r.before, r.after, "refused, limit on: ", f.Kind.String())
	} else {
		g.emitDecisions(ctx, r.before, r.after, "calls succeed", "")
	}
}

// emitNews sends what has changed about the key: that the provider has closed it, once
// for each closing, and whether long waits are believed.
func (g *Guard) emitNews(ctx context.Context, r *result, f *adaptive.Feedback) {
	e := event.Event{Time: r.now, Kind: event.LimiterVerdict}
	switch n := &r.news; {
	case n.Doubts:
		e.Reason = "a call got through during a long wait that the provider had asked for: such a wait is no longer trusted"
		g.emit(ctx, e)
	case n.Believes:
		e.Reason = "no call gets through: long waits that the provider asks for are trusted again"
		g.emit(ctx, e)
	}
	switch e.Kind = event.LimiterClosed; {
	case r.news.Reopened:
		e.Kind, e.Reason = event.LimiterReopened, "a call found it open"
	case !r.news.Closed:
		return
	case f.Verdict == adaptive.Terminal:
		e.Reason, e.Err = "quota exhausted", f.Err
	case tooLong(f):
		e.Reason, e.Wait, e.Err = "the provider asks to wait for "+reopening.Asked(f.RetryAfter), f.RetryAfter, f.Err
	default:
		e.Reason, e.Err = "no call got through for "+g.patience().String(), f.Err
	}
	g.emit(ctx, e)
}

// emitDecisions sends what the controller has decided since its decision before. A
// decision without a reason of its own was made for the one given here, in two
// parts because it is rarely needed.
func (g *Guard) emitDecisions(ctx context.Context, before int64, after *adaptive.View, reason, detail string) {
	for d := range after.Decisions.Since(before) {
		e := event.Event{Time: d.At, Kind: event.Kind(d.Kind), From: d.From, To: d.To, Wait: d.Wait, Reason: d.Reason}
		if e.Reason == "" {
			e.Reason = reason + detail
		}
		if e.Kind == event.LimiterCut {
			e.Wait = max(0, after.GateUntil.Sub(d.At))
		}
		g.emit(ctx, e)
	}
}

func (g *Guard) emit(ctx context.Context, e event.Event) {
	e.Source, e.Index = g.name, event.NoIndex
	theirs := event.From(ctx)
	emit.Tell(ctx, emit.Except(g.observer, theirs), e)
	emit.Tell(ctx, theirs, e)
}

// emitEnd sends the end r of k to those that want to know of each call.
func (g *Guard) emitEnd(k *attempt, r *result, f *adaptive.Feedback) {
	if r.ended && k.queued >= 0 {
		g.emitCall(k.Context, event.Call{
			Queued: k.queued, Took: max(0, r.now.Sub(r.sent.At)), Outcome: f.Verdict.String(),
		})
	}
}

const (
	// waitWorthTelling is the shortest wait that is an event.
	waitWorthTelling = time.Millisecond
	// quietAfterAWait is how long a guard then reports no other wait.
	quietAfterAWait = 10 * time.Second
)

// tellsOfWaits reports whether the next wait is an event.
func (g *Guard) tellsOfWaits() bool {
	if len(g.layers) == 0 {
		return false
	}
	last := g.layers[0].waited.Load()
	return last == 0 || int64(g.clock.Elapsed())+1-last >= int64(quietAfterAWait)
}

// emitWaited reports a call that has waited for a configured limit.
func (g *Guard) emitWaited(ctx context.Context, b throttle.Bound, waited time.Duration, err error) {
	var limit string
	switch b.Kind {
	case throttle.BoundByWindow:
		limit = "waited for " + b.Window.String()
	case throttle.BoundByConcurrency:
		limit = "waited for the concurrency limit"
	case throttle.BoundByStore:
		limit = "waited for the limits in the store"
	case throttle.NotBound, throttle.BoundByPause, throttle.BoundByGovernor, throttle.BoundByOther:
		return
	}
	teller := g.layers[0]
	last := teller.waited.Load()
	if waited < waitWorthTelling || !g.tellsOfWaits() || !teller.waited.CompareAndSwap(last, int64(g.clock.Elapsed())+1) {
		return
	}
	e := event.New(g.clock.Now(), event.LimiterWaited, teller.name)
	e.Wait, e.Reason, e.Err = waited, limit, err
	theirs := event.From(ctx)
	for _, l := range g.layers {
		emit.SendUncounted(emit.Except(l.observer, theirs), e)
	}
	emit.SendUncounted(theirs, e)
}

func (g *Guard) emitCall(ctx context.Context, c event.Call) {
	c.Limiter = g.scope()
	theirs := event.From(ctx)
	for _, l := range g.layers {
		emit.SendCall(emit.Except(l.observer, theirs), c)
	}
	emit.SendCall(theirs, c)
}

// refusedBy names the limit that rejected a call, for events.
func refusedBy(f *adaptive.Feedback) string {
	if f.Verdict == adaptive.Overloaded {
		return adaptive.Overloaded.String()
	}
	return f.Kind.String()
}

// signal passes h, which the attempt k has met and g has learned from, on to the
// guards of the calls that enclose k, for as long as they propagate.
func (g *Guard) signal(k *attempt, h *adaptive.RateLimitHit) {
	for passes := k.call.guard.propagates(); passes; passes = k.call.guard.propagates() || k.call.guard.transparent() {
		ctx := k.Context
		if k = attemptOf(ctx); k == nil {
			return
		}
		if l := k.call.guard.learner; l != nil && l != g { // g has learned from it
			l.hear(ctx, h)
		}
	}
}

func (g *Guard) propagates() bool {
	return inherited(g, func(p *Policy) bool { return p.Propagate })
}

// transparent reports whether g bounds nothing, so that a signal passes through.
func (g *Guard) transparent() bool {
	for _, l := range g.layers {
		c := l.current.Load()
		if l.governor == nil || !c.lazy || c.limits.Concurrency > 0 || len(c.limits.Windows) > 0 || !l.asleep() {
			return false
		}
	}
	return true
}

// asleep reports whether no call was rejected yet.
func (g *Guard) asleep() (yes bool) {
	g.look(func(time.Time) { yes = g.governor.state == nil })
	return yes
}

// hear reports a hit of a nested guard to the controller.
func (g *Guard) hear(ctx context.Context, h *adaptive.RateLimitHit) {
	var before int64
	var after adaptive.View
	g.update(func(now time.Time) {
		before = g.governor.told
		if g.governor.signal(now, h) {
			after = g.governor.view()
			g.governor.told = after.Decisions.Count
		}
	})
	g.emitDecisions(ctx, before, &after, "a 429 in ", h.Scope)
}
