package node

import "context"

// Sink receives results as they finish. See WithSink.
type Sink[In, Out any] interface {
	// Write receives each result that is Done or Failed once; it may keep them. Calls do not overlap.
	// Results of an earlier run that the output lacks come as Resumed or Failed. An error stops the run.
	Write(ctx context.Context, results []Result[In, Out]) error
}

// ResumableSink is a Sink that continues where an earlier run ended: the journal keeps the mark of
// Sync, and a resumed run writes again what was recorded behind it.
type ResumableSink[In, Out any] interface {
	Sink[In, Out]
	// Resume prepares for a run: it truncates the output behind mark, or empties it if mark is "". If the
	// output does not reach mark, or has changed, it returns false and is called again with "". In a
	// second run of a batch without a journal, mark is that of the run before.
	Resume(ctx context.Context, mark string) (ok bool, err error)
	// Sync makes the output durable and returns the mark of its end, which is not empty.
	Sync(ctx context.Context) (mark string, err error)
}

// SinkFunc makes a Sink of a function that is called with each result; with a journal, at least once
// for each: see docs/resume.md.
func SinkFunc[In, Out any](f func(ctx context.Context, r Result[In, Out]) error) Sink[In, Out] {
	return sinkFunc[In, Out](f)
}

type sinkFunc[In, Out any] func(ctx context.Context, r Result[In, Out]) error

func (f sinkFunc[In, Out]) Write(ctx context.Context, results []Result[In, Out]) error {
	for i := range results {
		if err := f(ctx, results[i]); err != nil {
			return err
		}
	}
	return nil
}
