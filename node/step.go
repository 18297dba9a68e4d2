package node

import (
	"context"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// Step is a plain node: one function over the shared state. Its settings are
// chained after Do or Decide and frozen by the first run. Safe for concurrent
// runs if its function is.
type Step[S any] struct {
	settings

	f        func(context.Context, S) (Action, error)
	fallback func(context.Context, S, error) (Action, error)
	cost     func(S) throttle.Cost
}

// Decide returns a step that follows the edge for the action that f returns.
func Decide[S any](name string, f func(ctx context.Context, s S) (Action, error)) *Step[S] {
	n := &Step[S]{f: f}
	n.init(name)
	if f == nil {
		n.setup.Addf("f", "the function is nil")
	}
	return n
}

// Do returns a step that runs f and follows the default edge.
func Do[S any](name string, f func(ctx context.Context, s S) error) *Step[S] {
	if f == nil {
		return Decide[S](name, nil)
	}
	return Decide(name, func(ctx context.Context, s S) (Action, error) { return Next, f(ctx, s) })
}

// Name returns the step's name.
func (n *Step[S]) Name() string { return n.name }

// WithLimits gives the step a limiter of its own with these hard caps, built
// on first use. A window of tokens needs WithCost.
func (n *Step[S]) WithLimits(l throttle.Limits) *Step[S] { n.setLimits(l); return n }

// WithPreset gives the step a limiter of its own that starts from what the
// provider documents; see the one of Batch. It begins with as many calls in
// flight as the preset and WithLimits say, or with 4.
func (n *Step[S]) WithPreset(id presets.ID) *Step[S] { n.setPreset(id); return n }

// WithDialect sets how the provider speaks about its limits; see the one of Batch.
func (n *Step[S]) WithDialect(d dialect.Dialect) *Step[S] { n.setDialect(d); return n }

// WithLimiter has the step share l. It excludes WithLimits, WithLaw, WithPreset,
// WithDialect and WithDetector, which l has for itself.
func (n *Step[S]) WithLimiter(l *adaptive.Limiter) *Step[S] { n.setLimiter(l); return n }

// WithBreaker puts breaker b between the step's limiter and its function; see
// the one of Batch.
func (n *Step[S]) WithBreaker(b *breaker.Breaker) *Step[S] { n.setBreaker(b); return n }

// WithLaw gives the step a limiter of its own that adapts by l.
func (n *Step[S]) WithLaw(l adaptive.Law) *Step[S] { n.setLaw(l); return n }

// WithDetector sets what tells a refusal for rate from other errors. It is
// asked first, then the dialect of WithDialect or WithPreset, at last the default detector.
func (n *Step[S]) WithDetector(d adaptive.Detector) *Step[S] { n.setDetector(d); return n }

// WithRetry repeats a failed attempt by p. Without it there is one attempt.
// Waiting out a refusal for rate is not an attempt.
func (n *Step[S]) WithRetry(p retry.Policy) *Step[S] { n.setRetry(p); return n }

// WithTimeout bounds each attempt, counted from its admission.
func (n *Step[S]) WithTimeout(d time.Duration) *Step[S] { n.setTimeout("WithTimeout", d); return n }

// WithFallback replaces the outcome when all attempts have failed with err. It
// is not asked once ctx, or the run of the batch around it, is being stopped.
func (n *Step[S]) WithFallback(f func(ctx context.Context, s S, err error) (Action, error)) *Step[S] {
	n.setFunc("WithFallback", f == nil, func() { n.fallback = f })
	return n
}

// WithCost says what the call costs, to reserve it. Without it a call costs one request.
func (n *Step[S]) WithCost(f func(s S) throttle.Cost) *Step[S] {
	n.setFunc("WithCost", f == nil, func() { n.cost = f })
	return n
}

// Propagate signals the step's rate limit hits to the batch that encloses it.
func (n *Step[S]) Propagate() *Step[S] { n.setPropagate(); return n }

// Validate joins all problems of the settings, each a *fault.FieldError.
func (n *Step[S]) Validate() error {
	return n.validate(func(p *invalid.Problems) {
		if n.cost == nil {
			n.checkCosts(p)
		}
	})
}

// Limiter returns the step's limiter, built if it has not been needed yet; nil
// for a step without limits that has met no refusal.
func (n *Step[S]) Limiter() (*adaptive.Limiter, error) { return n.limiter() }

// Limiters returns the limiter that the step shares with others, if any.
func (n *Step[S]) Limiters() []*adaptive.Limiter { return n.limiters() }

// ResetLimiter starts the step's own limiter anew between runs: the law and
// the statistics; what was sent still counts. A shared one is refused with
// ErrSharedLimiter.
func (n *Step[S]) ResetLimiter() error { return n.resetLimiter() }

// Run implements Node. A panic of the function is its error, a *fault.PanicError.
func (n *Step[S]) Run(ctx context.Context, s S) (action Action, err error) {
	if err := n.setup.Use(n.Validate); err != nil {
		return Next, err
	}
	lim, err := n.limiter()
	if err != nil {
		return Next, err
	}
	if ctx.Err() != nil {
		return Next, context.Cause(ctx)
	}
	ctx, finished := n.started(ctx)
	err = errGoexit // unless it returns
	defer func() { finished(err) }()
	action, err = n.run(adaptive.Enclose(ctx, lim, n.propagate), s)
	return action, err
}

func (n *Step[S]) run(ctx context.Context, s S) (action Action, err error) {
	defer panics.Catch(&err)
	var c throttle.Cost
	if n.cost != nil {
		c = n.cost(s)
	}
	traced := emit.TracersOf(event.From(ctx), event.AttemptStarted)
	var counted *occurrence.Book
	err = n.attempts(ctx, event.NoIndex, c, &attempter{f: func(ctx context.Context, attempt int, _ breaker.Ticket) (err error) {
		ctx, counted = occurrence.Attempt(ctx) // another may follow, and is to meet the same items inside
		ctx, ended := n.tracedAttempt(ctx, traced, event.NoIndex, attempt)
		if ended != nil {
			err = errGoexit // unless it returns
			defer func() { ended(err) }()
		}
		action, err = n.call(ctx, s)
		return err
	}})
	counted.Keep()
	if err != nil && n.fallback != nil && ended(ctx) == nil && !tooLate(ctx, err) {
		return n.fallback(ctx, s, err)
	}
	return action, err
}

func (n *Step[S]) call(ctx context.Context, s S) (action Action, err error) {
	defer panics.Catch(&err)
	if n.timeout == 0 {
		return n.f(ctx, s)
	}
	ctx, cancel := n.withTimeout(ctx)
	defer cancel()
	action, err = n.f(ctx, s)
	return action, namedTimeout(ctx, err)
}
