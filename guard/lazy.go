package guard

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

// loose counts the calls that were made without admission.
type loose struct{ started, ended, forgotten atomic.Int64 }

// lets begins a call without admission, and returns how many others are out. It
// is false if calls need admission: what admits them would not know of this one.
func (g *Guard) lets(c *throttle.Cost) (others int, ok bool) {
	if !g.free.Load() || !moderate(c) {
		return 0, false
	}
	l := &g.loose
	others = int(l.started.Add(1) - l.ended.Load() - 1)
	if ok = g.free.Load(); !ok { // no longer
		g.unbegun()
	}
	return others, ok
}

// unbegun stops counting a call that has to be admitted. Other calls may already
// wait for its end.
func (g *Guard) unbegun() {
	g.loose.forgotten.Add(1)
	g.landed()
}

// inFlight may count a call that ends meanwhile, but misses none.
func (l *loose) inFlight() int {
	ended := l.ended.Load()
	return int(l.started.Load() - ended)
}

func (l *loose) addTo(s *throttle.Stats) {
	s.InFlight += l.inFlight()
	s.Admitted += max(0, l.started.Load()-l.forgotten.Load()) // one that is not sent may have begun before a reset
}

// reset forgets the calls so far.
func (l *loose) reset() { l.forgotten.Store(l.started.Load()) }

// unlimited reports whether a new guard has nothing that calls could wait for
// before the first one is rejected. Its Do then makes calls without admission,
// until the guard is changed or a call is rejected.
func (g *Guard) unlimited(c *compiled) bool {
	return c.lazy && len(g.layers) == 1 && !g.breakers && !g.calls && c.policy.Timeout == 0 && g.chain == nil &&
		c.limits.Concurrency == 0 && len(c.limits.Windows) == 0
}

// moderate reports whether every amount in c is one that limits could be asked for.
func moderate(c *throttle.Cost) bool {
	return uint64(amounts(c)) < throttle.MaxAmount //nolint:gosec // the sign counts
}

// amounts are those in c, one above the other: 0 if all are.
func amounts(c *throttle.Cost) int64 { return c.Requests | c.Tokens | c.Input | c.Output | c.Points }

// looseCall is the context of a call without admission. It has an attempt only
// if something asks for one.
type looseCall struct {
	context.Context //nolint:containedctx // it is a context

	guard *Guard
	cost  *throttle.Cost // nil: zero, as most are
	call  atomic.Pointer[Call]
	left  atomic.Bool // it is no longer in flight
}

// leave ends the call for the limits. A call inside that needs admission has
// the call around it leave: that one would wait for itself.
func (l *looseCall) leave() {
	if l.left.Swap(true) {
		return
	}
	l.guard.landed()
}

// landed takes a call out of those in flight.
func (g *Guard) landed() {
	g.loose.ended.Add(1)
	if !g.free.Load() {
		g.update(func(time.Time) {})
	}
}

// Value makes the attempt findable, as attempt.Value does.
func (l *looseCall) Value(key any) any {
	switch {
	case key == inflight.Key{}:
		return &l.made().first
	case inflight.Private(key):
		return nil
	}
	return l.Context.Value(key)
}

// Number implements inflight.Facts.
func (*looseCall) Number() int { return 1 }

// Timeout implements inflight.Facts: a guard that has one admits its calls.
func (*looseCall) Timeout() time.Duration { return 0 }

// reserving is c where a zero cost is nil, as most are.
func reserving(c throttle.Cost) *throttle.Cost {
	if amounts(&c) == 0 {
		return nil
	}
	own := c // only this is allocated
	return &own
}

// reserved undoes reserving.
func reserved(c *throttle.Cost) throttle.Cost {
	if c == nil {
		return throttle.Cost{}
	}
	return *c
}

// made is the call, which holds nothing of any layer.
func (l *looseCall) made() *Call {
	if c := l.call.Load(); c != nil {
		return c
	}
	c := l.guard.Begin(reserved(l.cost))
	c.number = 1
	k := &c.first
	k.Context, k.call, k.number, k.queued = l.Context, c, 1, -1
	c.loose = l
	l.call.CompareAndSwap(nil, c)
	return l.call.Load()
}

// freely makes the first attempt of a call without admission. If it has to be
// repeated, or needs admission, that is up to the call that it returns. The end
// of the intake ends admissions, of which this attempt needs none.
func (g *Guard) freely(ctx context.Context, c throttle.Cost, f func(context.Context) error) (call *Call, again bool, err error) {
	if ctx.Err() != nil {
		return g.Begin(c), true, nil
	}
	others, ok := g.lets(&c)
	if !ok {
		return g.Begin(c), true, nil
	}
	w := inflight.WatcherOf(ctx)
	if w != nil {
		w.Admitted(throttle.Bound{})
	}
	l := &looseCall{Context: ctx, guard: g, cost: reserving(c)}
	began := g.clock.Elapsed()
	g.noteLoose(began)
	defer l.leave()      // also by runtime.Goexit
	err = survived(l, f) //nolint:contextcheck // l is ctx
	if err == nil && l.call.Load() == nil {
		if w != nil {
			w.Judged(adaptive.Feedback{Verdict: adaptive.OK, Used: c}, nil)
		}
		return nil, false, nil
	}
	call = l.made()
	again, err = call.landed(g.clock.At(began), others, &adaptive.Feedback{Err: err})
	return call, again, err
}

// landed concludes the first attempt of a call, which was made without admission.
func (c *Call) landed(began time.Time, others int, f *adaptive.Feedback) (again bool, err error) {
	defer c.loose.leave() // also if a detector panics
	k := &c.first
	c.wait.observe(k.Context, c.guard, false)
	k.loose = &throttle.Sent{At: began, InFlight: others, Cost: c.cost}
	return c.conclude(k, f)
}

// finishLoose reports to the controller a call that it has not admitted, if that was rejected.
func (k *attempt) finishLoose(r *result, f *adaptive.Feedback, observed bool) {
	if f.Verdict == adaptive.Unsent {
		k.call.guard.loose.forgotten.Add(1)
	}
	if !limits(f) && f.Verdict != adaptive.Terminal {
		*r = result{ended: true, sent: *k.loose}
		return
	}
	k.call.guard.learn(r, k.loose, f, observed)
}
