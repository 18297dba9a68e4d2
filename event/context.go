package event

import "context"

type contextKey struct{}

// With returns a context whose observers are those of ctx and o, in this order.
// An o that ctx already has is not added again. A nil o returns ctx.
func With(ctx context.Context, o Observer) context.Context {
	if t := Tee(From(ctx), o); t != nil && o != nil {
		return context.WithValue(ctx, contextKey{}, t)
	}
	return ctx
}

// From returns the observer of ctx, or nil if there is none. It forwards an
// event to all observers that [With] added, and recovers their panics.
func From(ctx context.Context) Observer {
	o, _ := ctx.Value(contextKey{}).(Observer)
	return o
}
