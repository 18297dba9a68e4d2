package guard

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

// Guard makes calls under a Policy. It holds the state that calls to a provider
// share: limits, the learned state, the breaker. Safe for concurrent use.
type Guard struct {
	name     string
	layers   []*Guard // those that have limits: itself first, then those of Within, each once
	learner  *Guard   // among the layers, or nil
	detect   adaptive.Detector
	breakers bool   // a layer has one
	chain    *chain // nil: no layer has a store
	clock    clock.Clock

	// What a guard made by Join does not have.
	current  atomic.Pointer[compiled]
	throttle *throttle.Limiter
	engine   engine
	governor *governor // nil: another guard learns
	remote   remote    // nil: calls are admitted here
	share    *share    // nil: its limits are those of this process
	breaker  *breaker.Breaker
	observer event.Observer
	calls    bool        // the observer wants to know of each call
	stale    atomic.Bool // the numbers of the preset are old, which no observer knows yet
	free     atomic.Bool // calls need no admission: see unlimited
	_        [64]byte    // what is only read is not in a cache line with what every call writes
	loose    loose
	gate     atomic.Int64 // when the pause after a rate-limit response ends, at the latest, in Unix nanoseconds; 0: there was none
	waited   atomic.Int64 // when a wait was last reported, by the clock; 0: never
	lasted   atomic.Int64 // how long calls took lately, on average, in nanoseconds
	_        [64]byte

	seats    seats
	onSet    func()     // called after a Set; may be nil
	changing sync.Mutex // held while the controller is replaced or relied on; taken before the limiter's lock
}

// New returns a guard. The error joins all problems of p.
func New(p Policy) (*Guard, error) {
	problems := invalid.Problems{Owner: p.owner()}
	p.check(&problems)
	c := p.compile(&problems)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	g := &Guard{name: p.name(), clock: clock.New(p.Clock), observer: p.Observer, calls: emit.WantsCalls(p.Observer)}
	g.current.Store(c)
	g.stale.Store(c.profile.Stale(g.clock.Now()))
	if err := g.build(c); err != nil {
		return nil, err
	}
	g.join(append([]*Guard{g}, p.Within...))
	if g.governor != nil {
		g.learner = g
	}
	g.free.Store(g.unlimited(c))
	return g, nil
}

// build makes what limits and learns.
func (g *Guard) build(c *compiled) (err error) {
	var rule ruler
	if c.law != nil {
		g.governor = &governor{loose: &g.loose, most: c.limits.Concurrency}
		if !c.lazy {
			state, err := c.law.Start(g.clock.Now(), seed)
			if err != nil {
				return err
			}
			g.governor.start(state, throttle.Sent{})
			g.remote = g.governor.remote
		}
		rule = g.governor
	}
	if c.policy.Store != nil {
		g.share = newShare(&c.policy, g.governor, g.clock)
		rule = g.share
	}
	if err := g.limit(c.limits, rule, throttle.WithName(g.name), throttle.WithClock(g.clock.Underlying())); err != nil {
		return err
	}
	g.engine.SetMaxQueue(c.policy.MaxQueue)
	if g.governor != nil {
		g.governor.engine = g.engine
	}
	if b := c.policy.Breaker; b != nil {
		config := *b
		if config.Name == "" {
			config.Name = g.name
		}
		config.Observer = event.Tee(g.observer, config.Observer)
		if config.Clock == nil {
			config.Clock = g.clock.Underlying()
		}
		g.breaker, err = breaker.New(config)
	}
	return err
}

// seed makes what a law draws at random repeatable.
const seed = 1

// Join returns a guard without limits of its own within all of guards, most specific first. The first with a Law, Preset,
// Share, Dialect or Detector learns; without such a guard the first one does. It is cheap enough for each item or request. Nil
// guards and duplicates are skipped.
func Join(guards ...*Guard) *Guard {
	guards = slices.DeleteFunc(slices.Clone(guards), func(g *Guard) bool { return g == nil })
	if len(guards) == 1 {
		return guards[0]
	}
	g := &Guard{name: "guard", clock: clock.New(nil)}
	if len(guards) > 0 {
		g.name, g.clock = guards[0].name, guards[0].clock
	}
	g.join(guards)
	return g
}

// join gathers the layers of guards.
func (g *Guard) join(guards []*Guard) {
	for _, o := range guards {
		if o == g {
			g.add(g)
			continue
		}
		for _, l := range o.layers {
			g.add(l)
		}
		if l := o.learner; g.learner == nil || l != nil && !g.learner.meantToLearn() && l.meantToLearn() {
			g.learner = l
		}
	}
	g.detect = g.ask
	g.link()
}

// meantToLearn reports whether the policy has anything to learn with. Another
// guard that is within none learns too, but only if no other can.
func (g *Guard) meantToLearn() bool { return g.current.Load().policy.reads() }

// add makes l a layer, unless it is one.
func (g *Guard) add(l *Guard) {
	if slices.Contains(g.layers, l) {
		return
	}
	g.layers = append(g.layers, l)
	g.breakers = g.breakers || l.breaker != nil
}

// Name returns the name; for Join, that of its first guard.
func (g *Guard) Name() string { return g.name }

// Policy returns the policy in force; zero for a Join.
func (g *Guard) Policy() Policy {
	c := g.current.Load()
	if c == nil {
		return Policy{}
	}
	p := c.policy
	p.Within = slices.Clone(p.Within)
	return p
}

// Learner returns the guard that learns from the calls of g: itself, or one in
// Within or of those that were joined, or nil.
func (g *Guard) Learner() *Guard { return g.learner }

// inherited is what the nearest layer with a policy of its own says.
func inherited[T comparable](g *Guard, of func(*Policy) T) (v T) {
	var zero T
	for _, l := range g.layers {
		if v = of(&l.current.Load().policy); v != zero {
			return v
		}
	}
	return zero
}

// ask asks the detectors of all layers, the nearest first.
func (g *Guard) ask(err error) adaptive.Feedback {
	for _, l := range g.layers {
		c := l.current.Load()
		for _, d := range [...]adaptive.Detector{c.detector, c.dialect} {
			if f := survivable(d, err); f.Verdict != adaptive.Unclassified {
				return f
			}
		}
	}
	return adaptive.Feedback{}
}

// askFirst asks the detectors that come before the dialect that has read the answer.
func (g *Guard) askFirst(err error) (f adaptive.Feedback) {
	for _, l := range g.layers {
		c := l.current.Load()
		if f = survivable(c.detector, err); f.Verdict != adaptive.Unclassified || c.dialect != nil {
			break
		}
	}
	return f
}

// survivable returns the verdict of d on err, or none if d is nil, panics, or returns one that does not exist.
func survivable(d adaptive.Detector, err error) (f adaptive.Feedback) {
	if d == nil {
		return f
	}
	defer func() { _ = recover() }()
	if said := d(err); known(said.Verdict) {
		return said
	}
	return f
}

// Pause admits no call before t. It never shortens a pause. Pause, Resume,
// Close and Reopen have no effect on a Join.
func (g *Guard) Pause(t time.Time) {
	if g.throttle == nil {
		return
	}
	wait := t.Sub(g.clock.Now())
	if wait <= 0 {
		return
	}
	g.free.Store(false)
	g.throttle.PauseUntil(t)
	g.emit(context.Background(), event.Event{Time: g.clock.Now(), Kind: event.LimiterPaused, Wait: wait})
}

// Resume ends a Pause.
func (g *Guard) Resume() {
	if g.throttle == nil {
		return
	}
	g.throttle.Resume()
	g.emit(context.Background(), event.Event{Time: g.clock.Now(), Kind: event.LimiterReopened, Reason: "the pause was ended"})
}

// Close fails all waiting and later calls with cause, until Reopen. Calls in
// flight finish.
func (g *Guard) Close(cause error) {
	if g.throttle == nil {
		return
	}
	g.free.Store(false)
	g.throttle.Close(cause)
	g.emit(context.Background(), event.Event{Time: g.clock.Now(), Kind: event.LimiterClosed, Err: cause})
}

// Reopen ends Close, and the closing by the provider, also that of a long Retry-After.
func (g *Guard) Reopen() {
	if g.throttle == nil {
		return
	}
	if g.governor != nil {
		g.update(func(time.Time) { g.governor.reopen() })
	}
	if g.remote != nil && !g.remote.Reopen() {
		return
	}
	g.throttle.Reopen()
	g.emit(context.Background(), event.Event{Time: g.clock.Now(), Kind: event.LimiterReopened})
}
