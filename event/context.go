package event

import "context"

type contextKey struct{}

// With returns a context under which o is told in addition to the observers
// that ctx already has, after them; once, if it is among them. The parent context is not changed. A nil o
// gives ctx back.
func With(ctx context.Context, o Observer) context.Context {
	if t := Tee(From(ctx), o); t != nil && o != nil {
		return context.WithValue(ctx, contextKey{}, t)
	}
	return ctx
}

// From returns the observer of ctx, which stands for all that [With] added, or
// nil if there is none. Use it with [Send], or to skip the making of an event
// that nobody wants.
func From(ctx context.Context) Observer {
	o, _ := ctx.Value(contextKey{}).(Observer)
	return o
}

// Emit tells the observers of ctx about e, and those who trace that it happened under
// ctx; see [Tell]. It does not look at whether ctx is done: the end of a run is an event too.
func Emit(ctx context.Context, e Event) {
	if o := From(ctx); o != nil {
		Tell(ctx, o, e)
	}
}
