package guard

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// governor connects a limiter with a control law. It admits every call until there is a law, keeps the pause of a replaced law,
// and sends a single call to probe a key that the provider has closed. The limiter's lock guards it.
type governor struct {
	state  adaptive.State // nil: no call was rejected yet
	remote remote         // the state, if it leaves pauses and closings to another guard; else nil
	engine engine
	loose  *loose // calls that were not admitted: they are in flight as well
	most   int    // the cap on calls in flight; 0: none
	gate   reopening.Gate
	closed reopening.Closure
	frozen bool          // nothing is admitted while one law replaces another
	held   int           // attempts that admit nothing else until they end
	holds  bool          // the gate held back the last call it was asked for
	told   int64         // decisions of the state that were reported to observers
	shed   time.Time     // the last failure that may have been an overload, before there is a law
	since  throttle.Sent // of the last call that the state does not know: it counts from there
	whole  bool          // it knows all calls
	before prelude       // what went before there was a state
	paused time.Time     // how long the provider asked to wait; it applies even if the controller is replaced

	failed     *fault.PanicError // of a law that is out of use; nil: it is in use
	unreported atomic.Bool       // no observer knows of that; not guarded
}

// ask calls the state, if there is one. A law that panics is out of use from
// then on: its guard goes on as one without a Law, and the pause stays.
func (g *governor) ask(f func(adaptive.State)) {
	s := g.state
	if s == nil {
		return
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = errLawExited
		}
		g.failed, g.state, g.remote = panics.Error(v), nil, nil
		g.forget()
		if g.paused.After(g.gate.At()) {
			g.gate = reopening.Until(g.paused)
		}
		g.unreported.Store(true)
	}()
	f(s)
	returned = true
}

var errLawExited = errors.New("runtime.Goexit")

// start puts the first state in place. Calls in flight are unknown to it.
func (g *governor) start(s adaptive.State, since throttle.Sent) {
	g.state, g.told, g.since = s, 0, since
	g.before.levels = nil
	if g.remote, _ = s.(remote); g.remote != nil { // it ends what it has admitted before, too
		g.since = throttle.Sent{}
	}
	g.whole = g.since == throttle.Sent{}
}

// replace puts another state in the place of the one so far; nil waits for the
// next rejected call.
func (g *governor) replace(s adaptive.State, since throttle.Sent) {
	g.gate = reopening.Until(g.view().GateUntil)
	g.failed = nil
	g.unreported.Store(false)
	g.forget()
	g.start(s, since)
}

// Admit implements ruler. While something other than the controller holds calls back, the
// controller learns nothing and does not grow.
func (g *governor) Admit(now time.Time, c throttle.Cost, inFlight int) (wait time.Duration) {
	if wait = g.shut(now); wait > 0 {
		g.Slack(now)
		return wait
	}
	out := g.loose.inFlight()
	if out > 0 && g.most > 0 && inFlight+out >= g.most {
		return throttle.Forever // until one of them ends
	}
	g.ask(func(s adaptive.State) { wait = s.Admit(now, c, inFlight+out) })
	return wait
}

// shut is how long no call is admitted, regardless of the controller.
func (g *governor) shut(now time.Time) (wait time.Duration) {
	if g.frozen || g.held > 0 {
		return throttle.Forever
	}
	if wait = g.closed.Looking(now); wait > 0 {
		return wait
	}
	wait = max(g.gate.Shut(now), g.gate.Pace(now))
	g.holds = wait > 0
	return wait
}

// Slack implements ruler.
func (g *governor) Slack(now time.Time) {
	g.ask(func(s adaptive.State) { s.Slack(now) })
}

// OnSend implements ruler.
func (g *governor) OnSend(now time.Time, s throttle.Sent) {
	if g.gate.Opening(now) {
		g.gate.Sent(now, float64(max(1, g.view().Concurrency)))
	}
	g.closed.Sent(now, s.Seq)
	if g.state == nil {
		s.Seq += g.loose.started.Load()
		g.before.note(s)
		return
	}
	g.count(&s)
	g.ask(func(law adaptive.State) { law.OnSend(now, s) })
}

// OnUnsent implements ruler.
func (g *governor) OnUnsent(now time.Time, s throttle.Sent) {
	g.closed.Lost(s.Seq)
	if g.knows(&s) {
		g.count(&s)
		g.ask(func(law adaptive.State) {
			law.OnResult(now, s, g.engine.InFlight(), adaptive.Feedback{Verdict: adaptive.Unsent})
		})
	}
}

// hear records what f says about the key. A wait that is not trusted is removed from f.
func (g *governor) hear(now time.Time, seq int64, f *adaptive.Feedback, patience time.Duration) (n reopening.News) {
	if g.remote != nil { // the other guard gets it
		return n
	}
	f.RetryAfter, n = g.closed.Heard(now, seq, found(f.Verdict), f.RetryAfter, patience)
	switch {
	case tooLong(f), n.Silent:
		g.gate.CloseUntil(now, g.closed.Until())
	case refused(f.Verdict):
		if until := now.Add(f.RetryAfter); f.RetryAfter > 0 && until.After(g.paused) {
			g.paused = until
		}
	}
	return n
}

// found is v for a key that the provider may have closed.
func found(v adaptive.Verdict) reopening.Verdict {
	switch {
	case v == adaptive.OK:
		return reopening.Passed
	case v == adaptive.Terminal:
		return reopening.Exhausted
	case refused(v):
		return reopening.Refused
	}
	return reopening.Lost
}

// result reports the end of a call to the controller.
func (g *governor) result(now time.Time, s *throttle.Sent, f *adaptive.Feedback) {
	if g.state == nil {
		return
	}
	if !g.knows(s) && !limits(f) {
		return // it was admitted before there was a law
	}
	counted := *s
	g.count(&counted)
	g.ask(func(law adaptive.State) { law.OnResult(now, counted, g.engine.InFlight(), *f) })
}

// signal reports a hit of a nested guard to the controller. It returns false if there is no law.
func (g *governor) signal(now time.Time, h *adaptive.RateLimitHit) (heard bool) {
	g.ask(func(law adaptive.State) { law.OnSignal(now, h); heard = true })
	return heard
}

// meters reports a declared quota to the controller; false if it does not use them.
func (g *governor) meters(now time.Time, s throttle.Sent, m [throttle.Units]adaptive.Meter) (heard bool) {
	g.ask(func(law adaptive.State) {
		if to, ok := law.(adaptive.Listener); ok {
			to.OnMeters(now, s, m)
			heard = true
		}
	})
	return heard
}

// reopen forgets that the provider has closed the key, which it reports, and the pause
// until the next look.
func (g *governor) reopen() (closed bool) {
	if closed = g.closed.Closed(); closed {
		g.gate = reopening.Until(g.paused)
	}
	g.closed = reopening.Closure{}
	return closed
}

// explain returns the controller's explanation.
func (g *governor) explain(now time.Time) (why string) {
	why = g.view().Bound
	g.ask(func(law adaptive.State) {
		if x, ok := law.(adaptive.Explainer); ok {
			why = x.Explain(now)
		}
	})
	return why
}

// count puts s into the numbers of the state, which begin with the first call that it knows.
func (g *governor) count(s *throttle.Sent) {
	if !g.knows(s) {
		s.Seq, s.Total = 0, throttle.Cost{}
		return
	}
	if g.whole {
		return
	}
	s.Seq, s.Total = s.Seq-g.since.Seq, less(s.Total, g.since.Total)
}

// knows reports whether the state has seen the call. Calls that were not admitted have no number: if the state has seen any of
// them, they count as the last one.
func (g *governor) knows(s *throttle.Sent) bool { return g.state != nil && s.Seq > g.since.Seq }

func (g *governor) view() adaptive.View {
	var v adaptive.View
	g.ask(func(s adaptive.State) { v = s.View() })
	if at := g.gate.At(); at.After(v.GateUntil) {
		v.GateUntil = at
	}
	if g.holds {
		v.Bound = reopening.Bound
	}
	return v
}

// overloadsWithin is how soon a second failure of KindOverload must follow to start the controller of a lazy guard. One alone is no
// evidence.
const overloadsWithin = 10 * time.Second

// starts reports whether f starts the controller of a lazy guard.
func (g *governor) starts(now time.Time, f *adaptive.Feedback) bool {
	if refused(f.Verdict) || !limits(f) {
		return refused(f.Verdict)
	}
	last := g.shed
	g.shed = now
	return !last.IsZero() && now.Sub(last) < overloadsWithin
}

// limits reports whether f is evidence of a limit.
func limits(f *adaptive.Feedback) bool {
	return refused(f.Verdict) || f.Verdict == adaptive.Transient && f.Kind == adaptive.KindOverload
}

// refused reports whether the provider turned the call away unprocessed.
func refused(v adaptive.Verdict) bool { return v == adaptive.Hit || v == adaptive.Overloaded }
