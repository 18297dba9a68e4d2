package node

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// lateError is why a run was stopped before its deadline: the batch's limiter
// admits nobody before that.
type lateError struct{ err error }

func (e *lateError) Error() string { return e.err.Error() }

func (e *lateError) Unwrap() error { return e.err }

// early reports whether ctx was ended by a run that was stopped before its deadline.
func early(ctx context.Context) bool {
	_, yes := context.Cause(ctx).(*lateError) //nolint:errorlint // the cause itself: one of its own may lie in a failed item
	return yes
}

// tooLate reports whether err says that a call can only be admitted when ctx
// is over. That is no failure of the call, and another attempt would find the same.
func tooLate(ctx context.Context, err error) bool {
	late := lateIn(err)
	if late == nil {
		return false
	}
	end, ok := endOf(ctx)
	return ok && time.Now().Add(late.Wait).After(end)
}

// lateIn returns the refusal for a deadline's sake in err, or nil.
func lateIn(err error) (late *throttle.DeadlineError) {
	defer func() { _ = recover() }() // the methods of err are user code
	late, _ = errors.AsType[*throttle.DeadlineError](err)
	return late
}

// endOf is when admissions under ctx end, if that is known.
func endOf(ctx context.Context) (end time.Time, ok bool) {
	end, ok = ctx.Deadline()
	in, _ := intake.Of(ctx)
	if e, has := in.Deadline(); has && (!ok || e.Before(end)) {
		return e, true
	}
	return end, ok
}
