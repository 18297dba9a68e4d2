package event

import "time"

// Call is one call that an adaptive limiter admitted or rejected. A call that is
// refused by the provider and sent again is several.
type Call struct {
	// Limiter is the limiter's name.
	Limiter string
	// Queued is the wait for admission, since it asked or since the last refusal.
	Queued time.Duration
	// Took is the time from admission to end; 0 if it was not admitted.
	Took time.Duration
	// Outcome is how the limiter classified its end: "ok", "hit", "overloaded",
	// "transient", "terminal", "unsent", "unclassified" or [Unadmitted].
	Outcome string
}

// Unadmitted is the outcome of a call that was not admitted: its context ended,
// it exceeds the limits, there was no room for a Try, or the limiter was closed.
const Unadmitted = "unadmitted"

// CallObserver is an Observer that also receives each call through a limiter.
// There are too many of them for events.
type CallObserver interface {
	Observer
	// ObserveCall follows the rules of Observe.
	ObserveCall(c Call)
}
