package node

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// lateError is why a run was stopped before its deadline: the batch's guard
// admits no call before that.
type lateError struct{ err error }

func (e *lateError) Error() string { return e.err.Error() }

func (e *lateError) Unwrap() error { return e.err }

// started counts an item, in a run that may leave items no time.
func (r *run[S, In, Out]) started() {
	if r.timed {
		r.active.Add(1)
	}
}

// finished uncounts an item. Once the deadline leaves an item no time, no other
// is taken from the input; those ahead of it in the queue may still be admitted,
// and the last of them ends the run.
func (r *run[S, In, Out]) finished() {
	if !r.timed || r.active.Add(-1) > 0 {
		return
	}
	if late := r.last.Load(); late != nil {
		r.stop(late)
	}
}

// early reports whether ctx was ended by a run that was stopped before its deadline.
func early(ctx context.Context) bool {
	_, yes := context.Cause(ctx).(*lateError) //nolint:errorlint // the cause itself: one of its own may lie in a failed item
	return yes
}

// tooLate reports whether err says that a call could only be admitted after the end of ctx. That is not a failure of the call,
// and another attempt would get the same error.
func tooLate(ctx context.Context, err error) bool {
	late := lateIn(err)
	if late == nil {
		return false
	}
	end, ok := intake.Deadline(ctx)
	return ok && time.Now().Add(late.Wait).After(end)
}

// lateIn returns the error in err that says that a deadline leaves no time, or nil.
func lateIn(err error) (late *throttle.DeadlineError) {
	defer func() { _ = recover() }() // the methods of err are user code
	late, _ = errors.AsType[*throttle.DeadlineError](err)
	return late
}
