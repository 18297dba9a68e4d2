package event

import "context"

type contextKey struct{}

// With returns a context with the observers of ctx and o. If o is nil or already
// there, nothing is added.
func With(ctx context.Context, o Observer) context.Context {
	if t := Tee(From(ctx), o); t != nil && o != nil {
		return context.WithValue(ctx, contextKey{}, t)
	}
	return ctx
}

// From returns an observer that forwards to all observers that [With] added, or
// nil if there are none.
func From(ctx context.Context) Observer {
	o, _ := ctx.Value(contextKey{}).(Observer)
	return o
}
