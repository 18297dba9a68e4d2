package adaptive

import "context"

type intakeKey struct{}

// intake is a context that stops admissions only. done is that of the context
// which it was given to, to tell whether one further in ends earlier.
type intake struct {
	ctx  context.Context //nolint:containedctx // it is what the type is for
	done <-chan struct{}
}

// WithIntake gives ctx an intake: a context whose end stops waiting for
// admission, while a call that is already running goes on until ctx ends. It
// is how a run stops without throwing away the calls that it has paid for.
// in must end no later than ctx.
func WithIntake(ctx, in context.Context) context.Context {
	return context.WithValue(ctx, intakeKey{}, intake{in, ctx.Done()})
}

// Intake returns the intake of ctx; if it has none, ctx itself and false.
func Intake(ctx context.Context) (context.Context, bool) {
	if in, ok := ctx.Value(intakeKey{}).(intake); ok {
		return in.ctx, true
	}
	return ctx, false
}

// untilIntakeEnds is the context to wait under: it ends with the intake of ctx
// and also with ctx, which may have been given an earlier end since. done
// releases it.
func untilIntakeEnds(ctx context.Context) (waiting context.Context, done func()) {
	in, ok := ctx.Value(intakeKey{}).(intake)
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
