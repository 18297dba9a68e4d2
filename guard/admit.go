package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// defaultMaxWait bounds how long a call waits from its first 429 on.
const defaultMaxWait = 15 * time.Minute

// begin admits an attempt by all layers and breakers. With an error k holds nothing.
func (c *Call) begin(ctx context.Context, k *attempt) (err error) {
	returned := false
	defer func() {
		if !returned { // an observer or a law has ended the goroutine
			k.cancel(nil)
		}
	}()
	if c.once {
		err = c.try(k)
	} else {
		err = c.enter(ctx, k)
	}
	if err == nil {
		err = c.allowed(k)
	}
	returned = true
	return err
}

// cancel ends an attempt that was admitted and is not sent because of err.
func (k *attempt) cancel(err error) {
	defer k.cancelBreakers(nil)
	var r result
	f := adaptive.Feedback{Verdict: adaptive.Unsent, Err: err}
	k.close(&f, true)
	k.finish(&r, &f, false)
}

// enter admits an attempt by all layers. With an error k holds nothing.
func (c *Call) enter(ctx context.Context, k *attempt) error {
	g := c.guard
	watcher := inflight.WatcherOf(ctx)
	measured := c.wait.observe(ctx, g)
	var bound throttle.Bound
	if watcher != nil {
		bound = g.bound(c.cost)
		watcher.Waits()
	}
	tells := c.wait.observed && c.wait.hit == nil && g.tellsOfWaits()
	if tells && watcher == nil {
		bound = g.bound(c.cost)
	}
	var asked time.Time
	if tells || measured {
		asked = g.clock.Now()
	}
	err := c.acquire(ctx, k)
	if tells {
		g.emitWaited(ctx, bound, g.clock.Now().Sub(asked), err)
	}
	if measured {
		c.wait.queued += max(0, g.clock.Now().Sub(asked))
		if err != nil {
			g.emitCall(ctx, event.Call{Queued: c.wait.queued, Outcome: event.Unadmitted})
		}
	}
	if watcher != nil && err == nil {
		watcher.Admitted(bound)
	}
	return err
}

// observe records whether anyone observes the call, and reports whether its
// wait has to be measured.
func (w *waiting) observe(ctx context.Context, g *Guard) (measured bool) {
	o := event.From(ctx)
	w.observed, w.queued = o != nil, -1
	measured = emit.WantsCalls(o)
	for _, l := range g.layers {
		w.observed = w.observed || l.observer != nil
		measured = measured || l.calls
		if l.stale.Load() {
			l.emitStale(ctx)
		}
		l.emitFailed(ctx)
	}
	if measured = measured && !g.transparent(); measured {
		w.queued = 0
	}
	return measured
}

// acquire fills in the parts of k: from the enclosing calls on the same layers,
// and from the queues of the others.
func (c *Call) acquire(ctx context.Context, k *attempt) error {
	if err := c.guard.conflict(); err != nil {
		return err
	}
	k.split(c.guard.layers)
	if len(k.parts) == 0 && ctx.Err() != nil { // no limit looks at it
		return context.Cause(ctx)
	}
	if c.wait.hit == nil {
		if c.takeOver(ctx, k) == 0 {
			return nil
		}
	}
	err := c.gated(ctx, k)
	if err == nil {
		waiting, done := c.bounded(ctx)
		defer done()
		err = c.admitted(waiting, k)
	}
	if err == nil {
		return nil
	}
	k.handBack()
	return c.turnedAway(ctx, err)
}

// admitted waits for the layers that are missing, and for the store if they have one.
func (c *Call) admitted(ctx context.Context, k *attempt) error {
	if c.guard.chain == nil {
		return c.queue(ctx, k)
	}
	return c.queueShared(ctx, k)
}

// gated is the error of a call whose context ends before the pause after a
// rate-limit response does.
func (c *Call) gated(ctx context.Context, k *attempt) error {
	l := c.guard.learner
	if l == nil || !l.clock.Real() {
		return nil
	}
	gate := l.gate.Load()
	if gate == 0 {
		return nil
	}
	deadline, ok := ctx.Deadline()
	if !ok || gate <= deadline.UnixNano() {
		return nil
	}
	for i := range k.parts {
		if p := &k.parts[i]; p.guard != l || p.outer != nil {
			continue
		}
		if err := l.throttle.Check(c.cost); err != nil {
			return err
		}
		if until := l.view().GateUntil; until.After(deadline) {
			now := l.clock.Now()
			return &throttle.DeadlineError{Limiter: l.name, Wait: until.Sub(now), Left: deadline.Sub(now)}
		}
	}
	return nil
}

// split makes a part for each layer.
func (k *attempt) split(layers []*Guard) {
	switch n := len(layers); {
	case n == 1:
		k.parts = k.only[:]
	case n <= mostFew:
		k.few = new(fewLayers)
		k.parts = k.few.parts[:n]
	default:
		k.parts = make([]part, n)
	}
	for i, l := range layers {
		k.parts[i].guard = l
	}
}

// takeOver gets what enclosing calls hold of the same layers, and returns how
// many layers are missing. A call that would be turned away at once gets nothing.
// After the end of the intake it gets what needs no admission: the call around
// it goes on.
func (c *Call) takeOver(ctx context.Context, k *attempt) (missing int) {
	missing = len(k.parts)
	outer := attemptOf(ctx)
	if outer == nil || ctx.Err() != nil {
		return missing
	}
	ended := intake.Ended(ctx) != nil
	for i := range k.parts {
		p := &k.parts[i]
		if p.guard.throttle.Check(c.cost) != nil {
			continue
		}
		for o := outer; o != nil; o = attemptOf(o.Context) { //nolint:contextcheck // outwards
			if l := o.call.loose; l != nil && l.guard == p.guard && len(o.parts) == 0 {
				l.leave()
				continue
			}
			permit, place, covered := o.hand(p.guard, c.cost, ended)
			switch {
			case covered:
				p.permit, p.outer = permit, o
				k.inherit(i, o, true)
				missing--
			case place != 0:
				o.surrender(p.guard, permit)
				k.inherit(i, o, false)
				c.place(k, i, place)
			default:
				continue
			}
			if p.outer != nil && o.queued > 0 && c.wait.queued >= 0 {
				c.wait.queued += o.queued
			}
			break
		}
	}
	return missing
}

// place notes the number of the first admission of layer i.
func (c *Call) place(k *attempt, i int, seq int64) {
	if c.wait.places == nil {
		c.wait.places = make([]int64, len(k.parts))
	}
	if c.wait.places[i] == 0 {
		c.wait.places[i] = seq
	}
}

// surrender gives back the permit of an enclosing call that a call inside
// cannot use.
func (k *attempt) surrender(l *Guard, p throttle.Permit) {
	f := adaptive.Feedback{Verdict: adaptive.Unsent}
	var r result
	l.end(&r, p, &f, false)
	if l == k.call.guard.learner {
		l.emitEnd(k, &r, &f)
	}
}

// handBack returns what was taken over by an attempt that was not sent.
func (k *attempt) handBack() {
	for i := range k.parts {
		if k.parts[i].outer == nil {
			k.disclaim(i)
		} else {
			k.returnPart(i)
		}
	}
}

// returnPart returns the permit of part i to the call around this one. If that
// is over, its request counts: the permit ends as it was reserved.
func (k *attempt) returnPart(i int) {
	k.mu.Lock()
	p := k.parts[i]
	if p.handed == nil {
		k.parts[i] = part{guard: p.guard, ticket: p.ticket}
	}
	k.mu.Unlock()
	if p.handed != nil { // a call inside has it, and ends it
		return
	}
	back := p.outer.takeBack(p.guard)
	if c := k.claim(i); c.ticket != nil {
		if !back {
			c.end(throttle.Cost{}, false)
		}
		k.setClaim(i, claim{})
	}
	if !back {
		p.guard.giveUp(p.permit)
	}
}

// giveUp ends the permit of a call whose outcome is not known; it cost what was
// reserved.
func (g *Guard) giveUp(p throttle.Permit) {
	var r result
	g.end(&r, p, &adaptive.Feedback{Verdict: adaptive.Transient}, false)
}

// bounded is the context to wait under: it ends with the intake of ctx and
// when the call has waited for MaxWait.
func (c *Call) bounded(ctx context.Context) (context.Context, func()) {
	ctx, done := intake.Waiting(ctx)
	most := inherited(c.guard, func(p *Policy) time.Duration { return p.MaxWait })
	since := c.wait.since
	switch {
	case most > 0:
		if !c.wait.hasAsked {
			c.wait.hasAsked, c.wait.asked = true, c.guard.clock.Elapsed()
		}
		since = c.wait.asked - c.wait.spent
	case c.wait.hit != nil:
		most = defaultMaxWait
	default:
		return ctx, done
	}
	waiting, cancel := context.WithCancelCause(ctx)
	over := &waitedError{most}
	left := most - (c.guard.clock.Elapsed() - since)
	if left <= 0 {
		cancel(over)
	}
	timer := c.guard.clock.AfterFunc(max(0, left), func() { cancel(over) })
	return waiting, func() {
		if c.wait.hasAsked {
			c.wait.until = c.guard.clock.Elapsed()
		}
		timer.Stop()
		cancel(nil)
		done()
	}
}

// waitedError ends a wait by MaxWait.
type waitedError struct{ most time.Duration }

func (e *waitedError) Error() string { return "guard: waited for " + e.most.String() }

// turnedAway is the error of a call that was not admitted because of err.
func (c *Call) turnedAway(ctx context.Context, err error) error {
	hit := c.wait.hit
	if over, ok := errors.AsType[*waitedError](err); ok {
		if hit != nil {
			return hit
		}
		b := c.guard.bound(c.cost)
		after := max(c.guard.retryAfter(b.Wait, over.most), min(c.guard.earliest(c.cost), longestRetryAfter))
		return &throttle.LimitedError{Limiter: c.guard.name, RetryAfter: after, Bound: b}
	}
	switch {
	case hit == nil:
		return c.guard.limited(err)
	case errors.As(err, new(*throttle.DeadlineError)):
		return fmt.Errorf("%w, after: %w", err, hit)
	}
	if ended := intake.Ended(ctx); ended != nil {
		return fmt.Errorf("%w while waiting to be sent again: %w", ended, hit)
	}
	return err
}

// retryAfter is a wait that fits an HTTP header. Where only the end of a call
// helps, it is as long as calls take, those that wait among them, but at least
// otherwise.
func (g *Guard) retryAfter(wait, otherwise time.Duration) time.Duration {
	if wait == throttle.Forever {
		wait = otherwise
		for _, l := range g.layers {
			wait = max(wait, l.untilFree())
		}
	}
	return min(max(wait, 1), longestRetryAfter)
}

// untilFree is about how long it takes until a slot is free that no waiting call gets.
func (g *Guard) untilFree() time.Duration {
	s := g.throttle.Stats()
	rounds := math.Ceil(float64(s.Waiting+1) / float64(max(1, s.InFlight)))
	return time.Duration(min(rounds*float64(g.lasted.Load()), float64(longestRetryAfter)))
}

// limited is err with the guard's RetryAfter, if a limiter is where it comes from.
func (g *Guard) limited(err error) error {
	if e, ok := errors.AsType[*throttle.LimitedError](err); ok && e.Bound.Wait == throttle.Forever {
		e.RetryAfter = g.retryAfter(throttle.Forever, e.RetryAfter)
	}
	return err
}

// bound is what holds a call back now: of all layers, what does so longest.
func (g *Guard) bound(c throttle.Cost) (most throttle.Bound) {
	for _, l := range g.layers {
		if b := l.throttle.Bound(c); b.Wait > most.Wait {
			most = l.holding(b, c)
		}
	}
	return most
}

// earliest is the least that another call would wait behind all that wait now.
func (g *Guard) earliest(c throttle.Cost) time.Duration {
	limiters := make([]*throttle.Limiter, len(g.layers))
	for i, l := range g.layers {
		limiters[i] = l.throttle
	}
	return g.layers[0].engine.Earliest(limiters, c)
}

// queue waits for the layers that are missing, all at one instant.
func (c *Call) queue(ctx context.Context, k *attempt) (err error) {
	switch missing := k.missing(); missing {
	case 0:
		return nil
	case 1:
		i := 0
		for k.parts[i].outer != nil {
			i++
		}
		p := &k.parts[i]
		if len(c.wait.places) > 0 && c.wait.places[i] != 0 {
			p.permit, err = p.guard.engine.Reacquire(ctx, c.cost, c.wait.places[i])
		} else {
			p.permit, err = p.guard.throttle.Acquire(ctx, c.cost)
		}
		return err
	default:
		limiters, permits := k.lacking()
		var places []int64
		for i := range c.wait.places {
			if k.parts[i].outer == nil {
				places = append(places, c.wait.places[i])
			}
		}
		if err = c.guard.layers[0].engine.AcquireAll(ctx, limiters, c.cost, places, permits); err == nil {
			k.fill(permits)
		}
		return err
	}
}

// fewLayers has most calls allocate once for what is needed for each layer.
type fewLayers struct {
	parts    [mostFew]part
	limiters [mostFew]*throttle.Limiter
	permits  [mostFew]throttle.Permit
}

const mostFew = 4

// lacking returns the limiters of the layers that are missing, and room for a
// permit of each.
func (k *attempt) lacking() (limiters []*throttle.Limiter, permits []throttle.Permit) {
	few := k.few
	if few == nil {
		few = new(fewLayers)
	}
	limiters, permits = few.limiters[:0], few.permits[:0]
	for i := range k.parts {
		if p := &k.parts[i]; p.outer == nil {
			limiters, permits = append(limiters, p.guard.throttle), append(permits, throttle.Permit{})
		}
	}
	return limiters, permits
}

// missing is how many layers k has no permit of.
func (k *attempt) missing() (n int) {
	for i := range k.parts {
		if k.parts[i].outer == nil {
			n++
		}
	}
	return n
}

// fill gives the permits to the parts that have none.
func (k *attempt) fill(permits []throttle.Permit) {
	for i := range k.parts {
		if p := &k.parts[i]; p.outer == nil {
			p.permit, permits = permits[0], permits[1:]
		}
	}
}

// try acquires everything now, or nothing.
func (c *Call) try(k *attempt) error {
	if err := c.guard.conflict(); err != nil {
		return err
	}
	k.split(c.guard.layers)
	if c.takeOver(k.Context, k) == 0 {
		return nil
	}
	limiters, permits := k.lacking()
	err := intake.Ended(k.Context)
	if err == nil {
		done := c.guard.tries()
		err = c.guard.layers[0].engine.TryAcquireAll(limiters, c.cost, permits)
		done()
	}
	if err == nil {
		if k.fill(permits); c.guard.chain == nil {
			return nil
		}
		if err = c.tryShared(k); err == nil {
			return nil
		}
	}
	k.handBack()
	return c.guard.limited(err)
}
