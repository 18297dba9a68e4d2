package executor

import (
	"context"
	"fmt"
	"slices"
)

// keptErrors is how many errors a MapError has at most.
const keptErrors = 100

// MapError is the error of Map for items that have no result.
type MapError struct {
	Failed int         // items
	Items  int         // all of them
	Errors []ItemError // the first 100, by Index
}

// ItemError is the error of one item.
type ItemError struct {
	Index int
	Err   error
}

// Error gives the index and the error.
func (e ItemError) Error() string { return fmt.Sprintf("item %d: %v", e.Index, e.Err) }

// Unwrap returns Err.
func (e ItemError) Unwrap() error { return e.Err }

// Error gives the counts and the first error.
func (e *MapError) Error() string {
	return fmt.Sprintf("executor: %d of %d items failed, first %v", e.Failed, e.Items, e.Errors[0])
}

// Unwrap returns Errors.
func (e *MapError) Unwrap() []error {
	all := make([]error, len(e.Errors))
	for i, one := range e.Errors {
		all[i] = one
	}
	return all
}

// Map calls for each item, and returns the results in the order of the items when
// all have ended. Items that failed leave the zero T, and make the error a
// *MapError. When ctx ends, so do the tasks that are left. Whatever
// happens, none of its tasks is running any more when Map returns.
func Map[In, T any](
	ctx context.Context, x *Executor, items []In, call func(context.Context, In) (T, error), opts ...SubmitOption,
) ([]T, error) {
	out := make([]T, len(items))
	failed := &MapError{Items: len(items)}
	fail := func(i int, err error) {
		if failed.Failed++; len(failed.Errors) < keptErrors {
			failed.Errors = append(failed.Errors, ItemError{i, err})
		}
	}
	if call == nil {
		return out, missing(x, false, true)
	}
	tasks := make([]*Task[T], 0, len(items))
	var stopped error
	for t, err := range SubmitAll(ctx, x, slices.Values(items), call, opts...) {
		if err != nil {
			stopped = err
			break
		}
		tasks = append(tasks, t)
	}
	for i, t := range tasks {
		_ = t.wait(context.WithoutCancel(ctx), nil) // the tasks end with ctx
		var err error
		if out[i], err = t.Wait(ctx); err != nil {
			fail(i, err)
		}
	}
	for i := len(tasks); i < len(items); i++ {
		fail(i, stopped)
	}
	if failed.Failed > 0 {
		return out, failed
	}
	return out, nil
}
