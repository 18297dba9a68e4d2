package journal

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Retainer is a Journal that can forget. Both journals of this project are one.
type Retainer interface {
	// Runs yields every run, in the order of their names.
	Runs(ctx context.Context) iter.Seq2[Run, error]
	// Forget deletes everything about that run; an unknown one is no error. It fails
	// with a *HeldError, and deletes nothing, while an Owner has a Part of the run.
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

// ForgetBefore deletes the runs of r that have not changed since t, except those
// that are at work, and returns their names, also those that it had deleted before
// an error. It looks first and then deletes: a run that begins and ends in between is deleted too.
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
		switch err := r.Forget(ctx, name); {
		case errors.As(err, new(*HeldError)):
		case err != nil:
			return forgotten, err
		default:
			forgotten = append(forgotten, name)
		}
	}
	return forgotten, nil
}
