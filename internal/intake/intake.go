// Package intake stops the admission of calls without ending the calls that run.
package intake

import (
	"context"
	"errors"
)

// ErrOutranked ends the context of a wait for admission because another call goes
// first. The call itself waits on in its line.
var ErrOutranked = errors.New("another call goes first")

type key struct{}

// intake is a context that ends admissions only. done is that of the context
// it was attached to, to detect whether a nested context ends earlier.
type intake struct {
	ctx  context.Context //nolint:containedctx // it is what the type is for
	done <-chan struct{}
}

// With returns a copy of ctx with the intake in. When in ends, calls that wait
// for admission under ctx stop waiting; a call that is running continues until
// ctx ends. in must end no later than ctx.
func With(ctx, in context.Context) context.Context {
	return context.WithValue(ctx, key{}, intake{in, ctx.Done()})
}

// Of returns the intake of ctx, or ctx itself and false if it has none.
func Of(ctx context.Context) (in context.Context, ok bool) {
	if in, ok := ctx.Value(key{}).(intake); ok {
		return in.ctx, true
	}
	return ctx, false
}

// Waiting returns the context to wait for admission under. It ends with the
// intake of ctx, or with ctx if that has been given an earlier end since. The
// caller must call release after waiting.
func Waiting(ctx context.Context) (waiting context.Context, release func()) {
	in, ok := ctx.Value(key{}).(intake)
	switch {
	case !ok:
		return ctx, func() {}
	case in.done == ctx.Done() || in.ctx.Err() != nil:
		return in.ctx, func() {}
	}
	waiting, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(in.ctx, func() { cancel(context.Cause(in.ctx)) })
	return waiting, func() {
		stop()
		cancel(nil)
	}
}
