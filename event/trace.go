package event

import "context"

// Events for a [Tracer] only.
const (
	// ItemStarted: an item of a batch begins. It ends with ItemDone, ItemResumed, ItemFailed or ItemAbandoned.
	ItemStarted Kind = "item.started"

	// AttemptStarted: attempt number Attempt of an item or a step was admitted.
	AttemptStarted Kind = "attempt.started"

	// AttemptFinished: it ended with Err, also if its code did not return in time.
	AttemptFinished Kind = "attempt.finished"
)

// Tracer is an Observer that follows work from its begin to its end, under the
// context of the work, such as for spans. Its methods follow the rules of Observe.
type Tracer interface {
	Observer

	// Traces reports whether to call Trace for this kind of begin: FlowStarted,
	// NodeStarted, ItemStarted, AttemptStarted or ModelStarted. It is called once
	// for each run of a flow or node, and for each request.
	Traces(kind Kind) bool

	// Trace receives a begin under ctx. The work runs under the context that it
	// returns. end, if not nil, is called once, from any goroutine.
	Trace(ctx context.Context, begin Event) (_ context.Context, end func(end Event))

	// Note receives each event that happened under ctx, after Observe.
	Note(ctx context.Context, e Event)
}
