package node

import "context"

// Sink takes results as they come, so that a run need not keep them. See WithSink.
type Sink[In, Out any] interface {
	// Write takes results that are Done or Failed, each once, as they finish; with a journal, after they
	// are recorded. One goroutine calls it at a time. Results that an earlier run has recorded, and that the
	// output lacks, come as Resumed or Failed. They may be kept. An error stops the run.
	Write(ctx context.Context, results []Result[In, Out]) error
}

// ResumableSink is a Sink that can continue where an earlier run ended. With a
// journal, what it has written and what is recorded stay the same: the journal keeps the mark of Sync,
// and a run that resumes gives the sink again what was recorded behind that mark.
type ResumableSink[In, Out any] interface {
	Sink[In, Out]
	// Resume prepares for a run: what was written behind mark is cut off. If what was written does not
	// reach mark, or is not what it was, it returns false, and is called with "" then. An empty mark begins anew. For
	// a second run of a batch without a journal, mark is the one of the run before.
	Resume(ctx context.Context, mark string) (ok bool, err error)
	// Sync makes what was written durable and returns the mark of its end, which is not empty.
	Sync(ctx context.Context) (mark string, err error)
}

// SinkFunc makes a Sink of a function that is called with each result. With a journal it
// gets every result at least once: those that it may not have had when the process died come
// again from the run that resumes; after an error, all of them. What it has done with a result
// it is not asked: if the table that it fills is deleted, use a ResumableSink whose Resume returns false then.
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
