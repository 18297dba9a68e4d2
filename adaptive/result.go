package adaptive

import (
	"context"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/throttle"
)

// result is what came of telling the law how a call went. It is filled in
// under the limiter's lock and told to observers after it.
type result struct {
	ended  bool // false: the permit had been ended by somebody else
	now    time.Time
	sent   throttle.Sent
	before int64 // decisions by then, if somebody observes
	after  *View // nil: nobody does, or there is nothing to tell
}

// observed reports whether anybody is told what changes by a call under ctx.
func (l *Limiter) observed(ctx context.Context) bool {
	return l.observer != nil || event.From(ctx) != nil
}

// end ends p with f and lets the law hear it.
func (l *Limiter) end(p throttle.Permit, f *Feedback, observed bool) (r result) {
	if f.Verdict == Unsent { // the law hears of it through OnUnsent
		p.CancelThen(func(now time.Time, s throttle.Sent) { r = result{ended: true, now: now, sent: s} })
	} else {
		p.End(f.Used, func(now time.Time, s throttle.Sent) { l.result(&r, now, &s, f, observed) })
	}
	return r
}

// result lets the law hear f, and fills in r. It runs under the limiter's lock.
func (l *Limiter) result(r *result, now time.Time, s *throttle.Sent, f *Feedback, observed bool) {
	r.ended, r.now, r.sent = true, now, *s
	if observed {
		r.before = l.governor.told
	}
	l.governor.OnResult(now, *s, l.throttle.InFlightLocked(), *f)
	switch {
	case f.Verdict == Terminal:
		l.throttle.CloseLocked(time.Time{}, l.exhausted(f.Err))
	case f.tooLong(): // for everybody, for longer than anybody waits on the provider's word
		hit := newHit(l.name, f, s.At)
		hit.GivenUp = true
		until := now.Add(min(f.RetryAfter, longestGate))
		if gate := l.governor.View().GateUntil; gate.After(until) {
			until = gate // else the next caller would wait for the rest
		}
		l.throttle.CloseLocked(until, hit)
	}
	if observed {
		after := l.governor.View()
		if l.governor.told = after.Decisions.Count; l.governor.told != r.before || f.Verdict.refused() || f.Verdict == Terminal {
			news := after // which few calls have
			r.after = &news
		}
	}
}

// tell emits what r shows and signals a hit to the enclosing limiters.
func (l *Limiter) tell(ctx context.Context, r *result, f *Feedback) {
	switch {
	case !r.ended:
		return
	case r.after == nil:
		if f.Verdict == Hit {
			l.signal(ctx, newHit(l.name, f, r.sent.At))
		}
		return
	}
	if f.Verdict.refused() {
		l.emit(ctx, event.Event{
			Time: r.now, Kind: event.LimiterHit, Wait: max(0, r.after.GateUntil.Sub(r.now)),
			Key: f.refusedBy(), Reason: f.Verdict.String() + " (" + f.Kind.String() + ")", Err: f.Err,
		})
		if f.Verdict == Hit {
			l.signal(ctx, newHit(l.name, f, r.sent.At))
		}
	}
	switch {
	case f.Verdict == Terminal:
		l.emit(ctx, event.Event{Time: r.now, Kind: event.LimiterClosed, Reason: "quota exhausted", Err: f.Err})
	case f.tooLong():
		l.emit(ctx, event.Event{
			Time: r.now, Kind: event.LimiterClosed, Wait: f.RetryAfter,
			Reason: "the provider asks for more than " + MaxRetryAfter.String(), Err: f.Err,
		})
	}
	if f.Verdict.refused() {
		l.emitDecisions(ctx, r.before, r.after, "refused, limit on: ", f.Kind.String())
	} else {
		l.emitDecisions(ctx, r.before, r.after, "calls succeed", "")
	}
}

// emitDecisions tells of what the law has decided since its decision before. A
// decision without a reason of its own was made for the one given here, in two
// parts because only then it is needed.
func (l *Limiter) emitDecisions(ctx context.Context, before int64, after *View, reason, detail string) {
	for d := range after.Decisions.Since(before) {
		e := event.Event{Time: d.At, Kind: d.Kind, From: d.From, To: d.To, Wait: d.Wait, Reason: d.Reason}
		if e.Reason == "" {
			e.Reason = reason + detail
		}
		if e.Kind == event.LimiterCut {
			e.Wait = max(0, after.GateUntil.Sub(d.At))
		}
		l.emit(ctx, e)
	}
}

func (l *Limiter) emit(ctx context.Context, e event.Event) {
	e.Source, e.Index = l.name, event.NoIndex
	theirs := event.From(ctx)
	emit.Tell(ctx, emit.Except(l.observer, theirs), e)
	emit.Tell(ctx, theirs, e)
}

// tellCall tells of the end r of k, to those who want to know of each call.
func (l *Limiter) tellCall(k *call, r *result, f *Feedback) {
	if r.ended && k.queued >= 0 {
		l.sendCall(k.Context, event.Call{
			Queued: k.queued, Took: max(0, r.now.Sub(r.sent.At)), Outcome: f.Verdict.String(),
		})
	}
}

func (l *Limiter) sendCall(ctx context.Context, c event.Call) {
	c.Limiter = l.name
	theirs := event.From(ctx)
	emit.SendCall(emit.Except(l.observer, theirs), c)
	emit.SendCall(theirs, c)
}

// refusedBy names the limit that refused, for events.
func (f *Feedback) refusedBy() string {
	if f.Verdict == Overloaded {
		return Overloaded.String()
	}
	return f.Kind.String()
}
