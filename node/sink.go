package node

import "context"

// Sink takes results as they come, so that a run need not keep them. See WithSink.
type Sink[In, Out any] interface {
	// Write takes results that are Done or Failed, each once, as they finish. One
	// goroutine calls it at a time. Results that were Done by an earlier run
	// come as Resumed, where what was written of them is lost. They may be kept. An error stops the run.
	Write(ctx context.Context, results []Result[In, Out]) error
}

// ResumableSink is a Sink that can go on where an earlier run ended. With a
// journal, what it has written and what is recorded never part.
type ResumableSink[In, Out any] interface {
	Sink[In, Out]
	// Resume prepares for a run: what was written behind mark is cut off. It
	// returns false, and is called with "" then, if what was written does not reach mark. An empty
	// mark begins anew.
	Resume(ctx context.Context, mark string) (ok bool, err error)
	// Sync makes what was written durable and returns the mark of its end, which is not empty.
	Sync(ctx context.Context) (mark string, err error)
}

// SinkFunc makes a Sink of a function that is called with each result. With a journal it
// gets every result at least once: those that it had when the process died, and
// that were not recorded, come again from the run that goes on; after an error, all of them.
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
