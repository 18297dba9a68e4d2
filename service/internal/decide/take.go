package decide

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/rules"
	"github.com/headrace/headrace/service/internal/tracing"
	"github.com/headrace/headrace/throttle"
)

var errTimeout = errors.New("the store did not answer in time")

// take asks the store once. Dry takes nothing.
func (d *Decider) take(ctx context.Context, asks []ask, dry bool) (All, error) {
	list, of := demands(asks)
	g, err := d.guarded.Take(ctx, quota.Request{Demands: list, Peek: dry, Uses: true})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return none(), context.Cause(ctx)
	case errors.As(err, new(*throttle.CostError)):
		return none(), costError(err, asks)
	case errors.As(err, new(*UnavailableError)):
		return none(), err
	default:
		return none(), unavailable(err, asks)
	}
	reason := reasonOf(g.Degraded)
	if reason == "" && d.problem() != "" {
		reason = ConfigError
	}
	a := d.answer(asks, list, of, &g, reason)
	if b := a.Blocking; b >= 0 && !dry { // a look of an operator is not counted as a refusal
		d.blocked.add(asks[b].key)
	}
	if a.Allowed && !dry && g.Ticket.ID != "" {
		a.Permit = d.permits.write(&g.Ticket, asks, d.clock.Underlying().Now())
	}
	return a, nil
}

// answer says what a grant means for each of the asks.
func (d *Decider) answer(asks []ask, list []quota.Demand, of []int, g *quota.Grant, reason Reason) All {
	a := All{Allowed: g.Wait == 0, Results: make([]Result, len(asks)), Blocking: -1, Tightest: -1, RetryAfter: g.Wait, Degraded: reason}
	now := d.clock.Underlying().Now()
	least := 2.0
	for i := range asks {
		x, at := &asks[i], of[i]
		r := &a.Results[i]
		r.Check, r.Rule, r.Degraded, r.Allowed = *x.check, x.rule.Name, reason, true
		if share := r.fill(x.rule, g.Uses[at], now); share < least {
			least, a.Tightest = share, i
		}
		if g.Wait > 0 {
			r.RetryAfter = waitOf(list[at].Cost.Points, g, at)
			r.Allowed = r.RetryAfter == 0
			if !r.Allowed {
				r.RetryAfter = max(r.RetryAfter, x.rule.MinWait)
			}
			if x.rule.OneShot && !r.Allowed && g.Degraded == nil { // the store may have more than the share that is left here
				r.RetryAfter = Never
			}
			a.RetryAfter = max(a.RetryAfter, r.RetryAfter)
			if at == g.Demand && a.Blocking < 0 {
				a.Blocking = i
			}
		}
	}
	if b := a.Blocking; b >= 0 && a.RetryAfter == Never && a.Results[b].RetryAfter != Never {
		for i := range a.Results {
			if a.Results[i].RetryAfter == Never {
				a.Blocking = i
			}
		}
	}
	return a
}

// waitOf is how long the demand with that index has to wait at the least, from what the
// store said of its windows.
func waitOf(cost int64, g *quota.Grant, at int) (wait time.Duration) {
	if at == g.Demand {
		return g.Wait
	}
	for _, u := range g.Uses[at] {
		if u.Left < cost {
			w := max(u.FreesIn, time.Millisecond)
			if u.Window.Kind() == throttle.TokenBucket {
				w = max(w, time.Duration(float64(cost-u.Left)/u.Window.Rate()*float64(time.Second)))
			}
			wait = max(wait, min(w, g.Wait))
		}
	}
	return wait
}

// fill reports the windows of a rule. It returns the share that is left of the tightest.
func (r *Result) fill(rule *rules.Rule, uses []throttle.WindowUse, now time.Time) (share float64) {
	share = 2
	r.Windows = make([]Window, len(uses))
	for i, u := range uses {
		w := &r.Windows[i]
		w.Name, w.Quota, w.Left, w.ResetsIn = rule.Name, u.Window.Max(), max(0, u.Left), u.ResetsIn
		if len(uses) > 1 {
			w.Name = rule.Name + "/" + u.Window.Per().String()
		}
		if rule.OneShot {
			w.ResetsIn = 0
		} else {
			w.Per = u.Window.Per()
		}
		if s := float64(w.Left) / float64(w.Quota); s < share {
			share, r.Remaining, r.Capacity, r.ResetAt = s, w.Left, w.Quota, time.Time{}
			if !rule.OneShot {
				r.ResetAt = now.Add(w.ResetsIn)
			}
		}
	}
	return share
}

func reasonOf(degraded error) Reason {
	switch {
	case degraded == nil:
		return ""
	case errors.As(degraded, new(*breaker.OpenError)):
		return BreakerOpen
	default:
		return StorageUnavailable
	}
}

// unavailable is the error of the store as the callers of asks see it.
func unavailable(err error, asks []ask) error {
	e := &UnavailableError{Reason: reasonOf(err), RetryAfter: time.Second, Cause: err}
	if f, ok := errors.AsType[*fault.FieldError](err); ok {
		if !unreadable(err) {
			return err
		}
		for i := range asks {
			if strings.Contains(f.Field, strconv.Quote(asks[i].key)) {
				e.Unreadable = asks[i].check
			}
		}
	}
	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
		e.RetryAfter = open.RetryAfter
	}
	e.RetryAfter = atLeast(e.RetryAfter)
	return e
}

// unreadable reports whether an error of a store that works is about what it holds, such as a damaged key, and not
// about the request.
func unreadable(err error) bool {
	f, ok := errors.AsType[*fault.FieldError](err)
	return ok && f.Owner != "quota" // which validates requests
}

func atLeast(d time.Duration) time.Duration { return max(d, time.Second) }

func (d *Decider) observe(r *Result, err error, took time.Duration) {
	set := d.rules.Load()
	o := Observation{Scope: r.Scope, Known: set.Knows(r.Scope), Outcome: outcome(r.Allowed, err), Degraded: r.Degraded, Took: took}
	if r.Capacity > 0 {
		o.Share = float64(r.Remaining) / float64(r.Capacity)
	}
	if r.Allowed && !r.DryRun && err == nil {
		o.Tokens = r.Tokens
	}
	if u, ok := errors.AsType[*UnavailableError](err); ok {
		o.Degraded = u.Reason
	}
	d.see(o)
}

func (d *Decider) observeAll(ctx context.Context, a *All, asks []ask, err error, took time.Duration) {
	if err != nil {
		r := Result{Check: *asks[0].check}
		d.observe(&r, err, took)
		note(ctx, &r, false, err)
		return
	}
	for i := range a.Results {
		r := a.Results[i]
		r.Allowed = a.Allowed
		d.observe(&r, nil, took)
	}
	at := a.Tightest
	if !a.Allowed && a.Blocking >= 0 {
		at = a.Blocking
	}
	if at >= 0 {
		note(ctx, &a.Results[at], a.Allowed, nil)
	}
}

// Invalid records checks that cannot be read, or not be decided together.
func (d *Decider) Invalid(ctx context.Context) {
	const outcome = "invalid"
	d.see(Observation{Outcome: outcome})
	tracing.Note(ctx, outcome, "", "")
}

// note adds what became of a check to the span of its request.
func note(ctx context.Context, r *Result, allowed bool, err error) {
	reason := r.Degraded
	if u, ok := errors.AsType[*UnavailableError](err); ok {
		reason = u.Reason
	}
	tracing.Note(ctx, outcome(allowed, err), r.Rule, string(reason))
}

func outcome(allowed bool, err error) string {
	switch {
	case err == nil && allowed:
		return "allowed"
	case err == nil:
		return "refused"
	case errors.As(err, new(*UnavailableError)):
		return "unavailable"
	case errors.As(err, new(*fault.FieldError)):
		return "invalid"
	default:
		return "cancelled"
	}
}
