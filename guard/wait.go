package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/throttle"
)

// defaultMaxWait bounds how long a call waits from its first 429 on.
const defaultMaxWait = 15 * time.Minute

// bounded is the context to wait under: it ends with the intake of ctx and
// when the call has waited for MaxWait.
func (c *Call) bounded(ctx context.Context) (context.Context, func()) {
	ctx, done := intake.Waiting(ctx)
	most := c.guard.maxWait()
	since := c.wait.since
	switch {
	case c.patient:
		return ctx, done
	case most > 0:
		if !c.wait.hasAsked {
			c.wait.hasAsked, c.wait.asked = true, c.guard.clock.Elapsed()
		}
		since = c.wait.asked - c.wait.spent
	case c.wait.hit != nil && !c.wait.inLine():
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

// inLine reports whether a line bounds the wait.
func (w *waiting) inLine() bool {
	_, yes := w.watcher.(inflight.Line)
	return yes
}

func (g *Guard) maxWait() time.Duration {
	return inherited(g, func(p *Policy) time.Duration { return p.MaxWait })
}

// waitedError ends a wait by MaxWait.
type waitedError struct{ most time.Duration }

func (e *waitedError) Error() string { return "guard: waited for " + e.most.String() }

// gated is the error of a call if its context ends before the pause after a
// rate-limit response.
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
	if k.of(l).outer != nil {
		return nil
	}
	if err := l.throttle.Check(c.cost); err != nil {
		return err
	}
	if until := l.view().GateUntil; until.After(deadline) {
		now := l.clock.Now()
		return &throttle.DeadlineError{Limiter: l.name, Wait: until.Sub(now), Left: deadline.Sub(now)}
	}
	return nil
}

// turnedAway is the error of a call that was not admitted because of err.
func (c *Call) turnedAway(ctx context.Context, err error) error {
	hit := c.wait.hit
	if late, ok := errors.AsType[interface {
		error
		Later(d time.Duration)
	}](err); ok { // of a line, which does not know when the limits admit a call
		if wait := c.guard.bound(c.cost).Wait; wait != throttle.Forever {
			late.Later(min(wait, reopening.MostSaid))
		}
		return err
	}
	if over, ok := errors.AsType[*waitedError](err); ok {
		if hit != nil {
			return hit
		}
		b := c.guard.bound(c.cost)
		after := max(c.guard.retryAfter(b.Wait, over.most), min(c.guard.earliest(c.cost), reopening.MostSaid))
		return &throttle.LimitedError{Limiter: c.guard.name, RetryAfter: after, Bound: b}
	}
	switch {
	case hit == nil:
		return c.guard.limited(err)
	case errors.As(err, new(*throttle.DeadlineError)):
		return fmt.Errorf("%w, after: %w", err, hit)
	case c.guard.learner != nil && c.guard.learner.remote != nil && hitIn(err) != nil: // what this call has met itself says more
		return hit
	}
	if ended := intake.Ended(ctx); ended != nil {
		return fmt.Errorf("%w while waiting to be sent again: %w", ended, hit)
	}
	return err
}

// limited is err with the guard's RetryAfter, if a limiter is where it comes from.
func (g *Guard) limited(err error) error {
	if e, ok := errors.AsType[*throttle.LimitedError](err); ok && e.Bound.Wait == throttle.Forever {
		e.RetryAfter = g.retryAfter(throttle.Forever, e.RetryAfter)
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
	return min(max(wait, 1), reopening.MostSaid)
}

// untilFree is about how long it takes until a slot is free that no waiting call gets.
func (g *Guard) untilFree() time.Duration {
	s := g.throttle.Stats()
	rounds := math.Ceil(float64(s.Waiting+1) / float64(max(1, s.InFlight)))
	return time.Duration(min(rounds*float64(g.lasted.Load()), float64(reopening.MostSaid)))
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
