package adaptive

import (
	"context"
	"time"
)

// enclosure marks a context as lying inside the work that a limiter governs.
type enclosure struct {
	context.Context //nolint:containedctx // it is a context

	limiter   *Limiter
	propagate bool
	outer     *enclosure
}

type enclosureKey struct{}

// Value makes the enclosure findable by enclosureOf.
func (e *enclosure) Value(key any) any {
	if key == (enclosureKey{}) {
		return e
	}
	return e.Context.Value(key)
}

func enclosureOf(ctx context.Context) *enclosure {
	e, _ := ctx.Value(enclosureKey{}).(*enclosure)
	return e
}

// Enclose marks ctx as lying inside the work that l governs; a nil l changes
// nothing. A hit on another limiter below is signalled to l, whose law may cut
// its window once per epoch; with propagate the hit, and any that l itself
// takes, goes on to what encloses ctx. No call fails because of a signal.
func Enclose(ctx context.Context, l *Limiter, propagate bool) context.Context {
	if l == nil {
		return ctx
	}
	return &enclosure{Context: ctx, limiter: l, propagate: propagate, outer: enclosureOf(ctx)}
}

// signal passes h, which l has taken, on to the limiters that enclose ctx. One
// that is l itself has heard it already.
func (l *Limiter) signal(ctx context.Context, h *RateLimitHit) {
	for e := enclosureOf(ctx); e != nil; e = e.outer {
		if e.limiter != l {
			e.limiter.hear(ctx, h)
		}
		if !e.propagate {
			return
		}
	}
}

func (l *Limiter) hear(ctx context.Context, h *RateLimitHit) {
	var before int64
	var after View
	l.throttle.Update(func(now time.Time) {
		before = l.governor.told
		l.governor.OnSignal(now, h)
		after = l.governor.View()
		l.governor.told = after.Decisions.Count
	})
	l.emitDecisions(ctx, before, &after, "a hit below, on ", h.Scope)
}
