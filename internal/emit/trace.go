package emit

import (
	"context"
	"sync/atomic"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/tee"
)

// Tracers are the observers that trace what begins with events of one kind. A
// nil Tracers traces nothing.
type Tracers struct{ to []event.Tracer }

// TracersOf returns the observers of o that trace what begins with events of
// that kind, or nil if there are none. It allocates nothing in that case.
func TracersOf(o event.Observer, kind event.Kind) *Tracers {
	var found *Tracers
	add := func(o event.Observer) {
		if t, ok := o.(event.Tracer); ok && wants(t, kind) {
			if found == nil {
				found = &Tracers{}
			}
			found.to = append(found.to, t)
		}
	}
	if all, ok := o.(several); ok {
		for _, o := range all.Observers(tee.Key{}) {
			add(o)
		}
	} else {
		add(o)
	}
	return found
}

func wants(t event.Tracer, kind event.Kind) (yes bool) {
	defer func() { _ = recover() }() // an observer must not stop the work
	return t.Traces(kind)
}

// Begin calls Trace on the tracers, and returns the context to go on under. end
// is never nil; its first call ends all traces, the innermost first, and later
// calls do nothing. A tracer that panics is left out.
func (t *Tracers) Begin(ctx context.Context, begin event.Event) (_ context.Context, end func(end event.Event)) {
	if t == nil {
		return ctx, discard
	}
	var ends []func(event.Event)
	for _, to := range t.to {
		inner, end := trace(ctx, to, begin)
		if ctx = inner; end != nil {
			ends = append(ends, end)
		}
	}
	if len(ends) == 0 {
		return ctx, discard
	}
	var ended atomic.Bool
	return ctx, func(e event.Event) {
		if ended.Swap(true) {
			return
		}
		for i := range ends {
			Send(event.Func(ends[len(ends)-1-i]), e)
		}
	}
}

func discard(event.Event) {}

func trace(ctx context.Context, t event.Tracer, begin event.Event) (inner context.Context, end func(event.Event)) {
	defer func() {
		if recover() != nil || inner == nil {
			inner, end = ctx, nil
		}
	}()
	return t.Trace(ctx, begin)
}

// Trace calls [Tracers.Begin] with the tracers of ctx. It allocates nothing if
// there are none.
func Trace(ctx context.Context, begin event.Event) (_ context.Context, end func(end event.Event)) {
	return TracersOf(event.From(ctx), begin.Kind).Begin(ctx, begin)
}

type insideKey struct{}

// Inside marks ctx as the context of the items of a traced batch.
func Inside(ctx context.Context) context.Context { return context.WithValue(ctx, insideKey{}, true) }

// IsInside reports whether ctx is that of an item of a traced batch: what begins
// there happens as often as there are items.
func IsInside(ctx context.Context) bool { return ctx.Value(insideKey{}) != nil }
