package intake

import (
	"context"
	"time"
)

// Ended returns why nothing new may begin under ctx, or nil: the cause of ctx
// or of its intake.
func Ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if in, ok := Of(ctx); ok && in.Err() != nil {
		return context.Cause(in)
	}
	return nil
}

// Deadline returns when admissions under ctx end, if that is known.
func Deadline(ctx context.Context) (end time.Time, ok bool) {
	end, ok = ctx.Deadline()
	in, _ := Of(ctx)
	if e, has := in.Deadline(); has && (!ok || e.Before(end)) {
		return e, true
	}
	return end, ok
}
