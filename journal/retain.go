package journal

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Retainer is a Journal that can list and delete runs.
type Retainer interface {
	// Runs yields every run, by name.
	Runs(ctx context.Context) iter.Seq2[Run, error]
	// Forget deletes a run; an unknown one is no error. While an Owner has a Part of it, Forget fails with
	// a *HeldError and deletes nothing.
	Forget(ctx context.Context, run string) error
	// ForgetUnchanged is Forget for a run that has not changed since t; no change can come between the check and the
	// deletion. If the run has changed, or is unknown, it deletes nothing and returns false.
	ForgetUnchanged(ctx context.Context, run string, t time.Time) (forgotten bool, err error)
}

// Run is the summary of a run, over all its nodes.
type Run struct {
	Name string
	// Opened is when it was first opened, Changed when it was last opened, or a
	// record begun or finished.
	Opened, Changed       time.Time
	Pending, Done, Failed int64 // records
	Bytes                 int64 // the length of the values of its Done records
}

// Total returns the number of records.
func (r Run) Total() int64 { return r.Pending + r.Done + r.Failed }

// ForgetBefore deletes the runs that have not changed since t, except those that are being recorded.
// It returns their names, with an error too.
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
	for _, name := range old {
		gone, err := r.ForgetUnchanged(ctx, name, t)
		switch {
		case errors.As(err, new(*HeldError)):
		case err != nil:
			return forgotten, err
		case gone: // else it was resumed after it was listed
			forgotten = append(forgotten, name)
		}
	}
	return forgotten, nil
}
