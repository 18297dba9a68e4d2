package guard

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

// ErrJoined is the error of Set on a guard made by Join.
var ErrJoined = errors.New("guard: made by Join: set the policy of the guards in it")

// Set changes the policy while calls wait and run. Waiting calls keep their place, windows their history, and an unchanged Law
// what it learned. A waiting call fails with a *throttle.CostError if its cost no longer fits. An invalid p changes nothing.
// Name, Within, Store, Clock, Observer and Breaker cannot change: leave them zero or equal.
func (g *Guard) Set(p Policy) error {
	if g.throttle == nil {
		return ErrJoined
	}
	limits, err := g.set(p)
	if err == nil && g.onSet != nil {
		g.onSet()
	}
	if err == nil { // the observer may change or save the guard: no lock is held
		emit.Send(g.observer, event.Event{
			Time: g.clock.Now(), Kind: event.LimiterChanged, Source: g.name, Index: event.NoIndex, Reason: fmt.Sprint(limits),
		})
	}
	return err
}

// set returns the limits now in force.
func (g *Guard) set(p Policy) (limits throttle.Limits, err error) {
	g.changing.Lock()
	defer g.changing.Unlock()
	old := g.current.Load()
	problems := invalid.Problems{Owner: old.policy.owner()}
	p = g.fixed(p, &old.policy, &problems)
	p.check(&problems)
	c := p.compile(&problems)
	if g.governor != nil && c.law == nil { // it goes on learning
		c.law, c.lazy = adaptive.Measured{}, true
	}
	if err := problems.Err(); err != nil {
		return limits, err
	}
	g.free.Store(false)
	err = g.change(old, c)
	g.tell()
	return c.limits, err
}

// fixed fills in what cannot change, and reports an attempt to change it.
func (g *Guard) fixed(p Policy, old *Policy, to *invalid.Problems) Policy {
	if p.Name != "" && p.Name != g.name {
		to.Addf("Name", "%q cannot become %q: leave it empty, or make another guard", g.name, p.Name)
	}
	if len(p.Within) > 0 && !slices.Equal(p.Within, old.Within) {
		to.Addf("Within", "it cannot change: leave it empty, or make another guard")
	}
	if g.governor == nil && (p.Law != nil || p.Preset != "" || p.Dialect != nil || p.Detector != nil) {
		to.Addf("Law", "the guard was created to leave learning to %q and cannot learn itself: create another guard", g.learner.Name())
	}
	if g.remote != nil {
		if other(p.Law, old.Law) {
			to.Addf("Law", "it cannot change: a group learns for this guard")
		}
		p.Law = old.Law
	}
	if p.Store != nil && p.Store != old.Store {
		to.Addf("Store", "it cannot change: leave it empty, or make another guard")
	}
	if p.Breaker != nil && p.Breaker != old.Breaker && !reflect.DeepEqual(p.Breaker, old.Breaker) {
		to.Addf("Breaker", "it cannot change: leave it empty, or make another guard")
	}
	if other(p.Observer, old.Observer) {
		to.Addf("Observer", "it cannot change: leave it empty, or make another guard")
	}
	if other(p.Clock, old.Clock) {
		to.Addf("Clock", "it cannot change: leave it empty, or make another guard")
	}
	p.Name, p.Within, p.Store = old.Name, old.Within, old.Store
	p.Clock, p.Observer, p.Breaker = old.Clock, old.Observer, old.Breaker
	return p
}

// other reports whether a, unless nil, is known not to be b: functions cannot be compared.
func other(a, b any) bool {
	return a != nil && reflect.ValueOf(a).Comparable() && (b == nil || reflect.ValueOf(b).Comparable()) && a != b
}

// learning reports whether the controller runs: that of a lazy guard may not have started.
func (g *Guard) learning() (yes bool) {
	g.look(func(time.Time) { yes = g.governor.state != nil })
	return yes
}

// change puts c in the place of old.
func (g *Guard) change(old, c *compiled) error {
	defer g.current.Store(c)
	g.engine.SetMaxQueue(c.policy.MaxQueue)
	if g.governor != nil {
		g.look(func(time.Time) { g.governor.most = c.limits.Concurrency })
	}
	if g.governor == nil || c.law == nil || old.sameLaw(c) && !g.lawFailed() && (c.lazy || g.learning()) {
		return g.throttle.SetLimits(c.limits)
	}
	state, err := c.start(g.clock.Now())
	if err != nil {
		return err
	}
	g.update(func(time.Time) { g.governor.frozen = true })
	err = g.throttle.SetLimits(c.limits) // they are valid
	g.update(func(time.Time) {
		g.governor.frozen = false
		g.governor.replace(state, g.engine.Total())
	})
	return err
}
