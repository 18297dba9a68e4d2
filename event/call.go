package event

import "time"

// Call is one call that has passed through an adaptive limiter, or has been
// turned away by it. A call that is refused and sent again is several.
type Call struct {
	// Limiter is the limiter's name.
	Limiter string
	// Queued is how long it waited to be admitted: from asking, or from the refusal before, on.
	Queued time.Duration
	// Took is how long it held its permit; 0 for one that was not admitted.
	Took time.Duration
	// Outcome is what the limiter took its end for: "ok", "hit", "overloaded",
	// "transient", "terminal", "unsent", "unclassified", or [Unadmitted].
	Outcome string
}

// Unadmitted is the outcome of a call that the limiter did not let go, because
// its context ended, it could never go, or the limiter was closed.
const Unadmitted = "unadmitted"

// CallObserver is an Observer that wants to know of each call through a
// limiter, which are too many for events.
type CallObserver interface {
	Observer
	// ObserveCall is held to the rules of Observe.
	ObserveCall(c Call)
}
