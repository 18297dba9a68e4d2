package adaptive

import (
	"time"

	"github.com/headrace/headrace/internal/decisions"
	"github.com/headrace/headrace/throttle"
)

// Law configures a controller, which learns the limits of one guard. It is immutable, so guards can share it.
type Law interface {
	// Start validates the configuration and returns the state of one guard.
	// seed makes random draws reproducible.
	Start(now time.Time, seed uint64) (State, error)
}

// State is the pure state machine of one guard. It reads no clock. The guard
// calls it under a lock, never concurrently, and it must not call the guard or
// runtime.Goexit. A controller that panics is not used any more.
type State interface {
	// Admit is asked about the head of the queue once all limits admit it. 0
	// admits it; otherwise it is asked again after wait, or at the next event;
	// throttle.Forever waits for an event.
	Admit(now time.Time, c throttle.Cost, inFlight int) (wait time.Duration)
	// Slack reports that no call waits for this controller. It must not grow then.
	Slack(now time.Time)
	// OnSend reports an admission.
	OnSend(now time.Time, s throttle.Sent)
	// OnResult reports the end of a call; inFlight are the others. The verdict
	// Unsent undoes OnSend. A RetryAfter above MaxRetryAfter closes the guard,
	// which probes with one call from time to time; a State does not wait for
	// it.
	OnResult(now time.Time, s throttle.Sent, inFlight int, f Feedback)
	// OnSignal reports a 429 of a guard further in. It may only decrease the
	// concurrency, and only if h.SentAt is after the last decrease.
	OnSignal(now time.Time, h *RateLimitHit)
	// View returns the current values.
	View() View
}

// Explainer is a State that says what holds calls back and what changes next,
// such as "the learned rate of 9.8 requests/s, next in 40ms". The default is
// View.Bound.
type Explainer interface {
	Explain(now time.Time) string
}

// Listener is a State that takes the quota declared by a header before the call
// ends, as guard.Call.ApplyMeters reports it. OnResult then has no Meters.
type Listener interface {
	OnMeters(now time.Time, s throttle.Sent, m [throttle.Units]Meter)
}

// Saver is a State that can be saved, as those of AIMD and Measured can.
type Saver interface {
	// Save returns what was learned, as JSON without secrets.
	Save(now time.Time) ([]byte, error)
}

// Restorer is a Law with states that are Savers.
type Restorer interface {
	// Restore is Start from what an earlier run saved. The error for data of
	// another controller is a *SavedError.
	Restore(now time.Time, seed uint64, saved []byte) (State, error)
}

// View is a snapshot of what a controller has learned.
type View struct {
	Concurrency int                     // most calls in flight; 0: unlimited
	Pace        [throttle.Units]float64 // units per second; 0: not learned
	GateUntil   time.Time               // no call is admitted before
	Bound       string                  // what held back the last call that asked; empty: nothing
	Hits        int64                   // Hit and Overloaded
	Cuts        int64                   // decreases
	Recoveries  int64                   // increases
	Decisions   decisions.Log           // the last ones, which observers receive as events
}
