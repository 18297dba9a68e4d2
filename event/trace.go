package event

import (
	"context"
	"sync/atomic"
)

// What only a [Tracer] is told: the begin of something that takes time, and the end of an attempt.
const (
	// ItemStarted: a worker of a batch has taken an item. It ends with ItemDone, ItemResumed,
	// ItemFailed or ItemAbandoned.
	ItemStarted Kind = "item.started"

	// AttemptStarted: a limiter has let attempt number Attempt at an item, or of a step, go.
	AttemptStarted Kind = "attempt.started"

	// AttemptFinished: it is over, with Err. What did not return in time has ended too.
	AttemptFinished Kind = "attempt.finished"
)

// Tracer is an Observer that follows what takes time from its begin to its
// end, under the context of the work: for spans.
//
// Its methods are held to the rules of Observe.
type Tracer interface {
	Observer

	// Traces reports whether Trace is to be called for what begins with an event
	// of that kind: FlowStarted, NodeStarted, ItemStarted, AttemptStarted or
	// ModelStarted. It is asked once for each run of a flow or a node, and each request.
	Traces(kind Kind) bool

	// Trace is told of a begin, under the context ctx. The work goes on under the
	// context that it returns, and calls end once, from any goroutine. A nil end
	// is one that nobody has to be told.
	Trace(ctx context.Context, begin Event) (_ context.Context, end func(end Event))

	// Note is told of what happened under ctx, after Observe was told of it.
	Note(ctx context.Context, e Event)
}

// Tracers are those who trace what begins with events of one kind. Nil is nobody.
type Tracers struct{ to []Tracer }

// TracersOf returns those among all that o stands for who trace what begins
// with events of that kind; nil if there is none. Without one it allocates nothing.
func TracersOf(o Observer, kind Kind) *Tracers {
	var found *Tracers
	add := func(o Observer) {
		if t, ok := o.(Tracer); ok && wants(t, kind) {
			if found == nil {
				found = &Tracers{}
			}
			found.to = append(found.to, t)
		}
	}
	if all, ok := o.(*tee); ok {
		for _, o := range all.to {
			add(o)
		}
	} else {
		add(o)
	}
	return found
}

func wants(t Tracer, kind Kind) (yes bool) {
	defer func() { _ = recover() }() // an observer never takes the work down
	return t.Traces(kind)
}

// Begin tells the tracers of a begin. The work is to go on under the context that it
// returns. end is never nil; its first call tells all who want to know, and later ones do
// nothing. A tracer that panics is left out.
func (t *Tracers) Begin(ctx context.Context, begin Event) (_ context.Context, end func(end Event)) {
	if t == nil {
		return ctx, nobody
	}
	var ends []func(Event)
	for _, to := range t.to {
		inner, end := trace(ctx, to, begin)
		if ctx = inner; end != nil {
			ends = append(ends, end)
		}
	}
	if len(ends) == 0 {
		return ctx, nobody
	}
	var ended atomic.Bool
	return ctx, func(e Event) {
		if ended.Swap(true) {
			return
		}
		for i := range ends {
			Send(Func(ends[len(ends)-1-i]), e) // the innermost first
		}
	}
}

func nobody(Event) {}

func trace(ctx context.Context, t Tracer, begin Event) (inner context.Context, end func(Event)) {
	defer func() {
		if recover() != nil || inner == nil {
			inner, end = ctx, nil
		}
	}()
	return t.Trace(ctx, begin)
}

// Trace tells the tracers of ctx of a begin: see [Tracers.Begin]. Without any it costs
// as good as nothing.
func Trace(ctx context.Context, begin Event) (_ context.Context, end func(end Event)) {
	return TracersOf(From(ctx), begin.Kind).Begin(ctx, begin)
}

// Tell tells o about e, as Send does, and that it happened under ctx if o is a [Tracer].
func Tell(ctx context.Context, o Observer, e Event) {
	Send(o, e)
	switch o := o.(type) {
	case *tee:
		for _, o := range o.to {
			note(ctx, o, e)
		}
	default:
		note(ctx, o, e)
	}
}

func note(ctx context.Context, o Observer, e Event) {
	if t, ok := o.(Tracer); ok {
		defer func() { _ = recover() }() // an observer never takes the work down
		t.Note(ctx, e)
	}
}

type insideKey struct{}

// Inside returns ctx as that of the items of a batch.
func Inside(ctx context.Context) context.Context { return context.WithValue(ctx, insideKey{}, true) }

// IsInside reports whether ctx is that of an item of a batch which is traced: what begins
// there happens as often as there are items.
func IsInside(ctx context.Context) bool { return ctx.Value(insideKey{}) != nil }
