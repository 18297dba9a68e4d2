package journal

import (
	"context"
	"iter"
	"time"
)

// Retainer is a Journal that can forget. Both that ship are.
type Retainer interface {
	// Runs yields every run, in the order of their names.
	Runs(ctx context.Context) iter.Seq2[Run, error]
	// Forget deletes everything about that run. One that is not known is no error; one that
	// is still at work fails with ErrNotOpen.
	Forget(ctx context.Context, run string) error
}

// Run is what a Retainer says of a run, over all its nodes.
type Run struct {
	Name string
	// Opened is when it was opened for the first time, and Changed when it was opened, or a record of
	// it begun or finished, for the last time: a run that only finds everything done is in use too.
	Opened, Changed time.Time
	// How many records it has.
	Pending, Done, Failed int64
	// Bytes is how long the values of its Done records are together. What a journal needs besides is its own.
	Bytes int64
}

// Total is how many records there are.
func (r Run) Total() int64 { return r.Pending + r.Done + r.Failed }

// ForgetBefore deletes the runs of r that have not changed since t, and returns
// their names, also those that it had deleted before an error. It looks first and
// then deletes: a run that somebody goes on with just then is gone too.
func ForgetBefore(ctx context.Context, r Retainer, t time.Time) (forgotten []string, err error) {
	var old []string
	for run, err := range r.Runs(ctx) {
		if err != nil {
			return nil, err
		}
		if run.Changed.Before(t) {
			old = append(old, run.Name)
		}
	}
	for i, name := range old {
		if err := r.Forget(ctx, name); err != nil {
			return old[:i], err
		}
	}
	return old, nil
}
