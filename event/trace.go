package event

import "context"

// What only a [Tracer] is told: the begin of something that takes time, and the end of an attempt.
const (
	// ItemStarted: a worker of a batch has taken an item. It ends with ItemDone, ItemResumed,
	// ItemFailed or ItemAbandoned.
	ItemStarted Kind = "item.started"

	// AttemptStarted: a limiter has let attempt number Attempt at an item, or of a step, go.
	AttemptStarted Kind = "attempt.started"

	// AttemptFinished: it is over, with Err. What did not return in time has ended too.
	AttemptFinished Kind = "attempt.finished"
)

// Tracer is an Observer that follows what takes time from its begin to its
// end, under the context of the work: for spans.
//
// Its methods are held to the rules of Observe.
type Tracer interface {
	Observer

	// Traces reports whether Trace is to be called for what begins with an event
	// of that kind: FlowStarted, NodeStarted, ItemStarted, AttemptStarted or
	// ModelStarted. It is asked once for each run of a flow or a node, and each request.
	Traces(kind Kind) bool

	// Trace is told of a begin, under the context ctx. The work goes on under the
	// context that it returns, and calls end once, from any goroutine. A nil end
	// is one that nobody has to be told.
	Trace(ctx context.Context, begin Event) (_ context.Context, end func(end Event))

	// Note is told of what happened under ctx, after Observe was told of it.
	Note(ctx context.Context, e Event)
}
