package adaptive

import (
	"time"

	"github.com/headrace/headrace/throttle"
)

// Law is the configuration of a control law: immutable, so that any number of
// guards can share it.
type Law interface {
	// Start validates the configuration and returns the state of one guard.
	// seed makes whatever the law draws at random repeatable.
	Start(now time.Time, seed uint64) (State, error)
}

// State is the pure machine of one guard. Every method gets the time, none
// reads a clock, and a simulator drives it exactly as the guard does. The
// guard calls it under its lock, never concurrently.
type State interface {
	// Admit, Slack and OnSend are those of throttle.Governor.
	Admit(now time.Time, c throttle.Cost, inFlight int) (wait time.Duration)
	Slack(now time.Time)
	OnSend(now time.Time, s throttle.Sent)
	// OnResult tells how a call ended. inFlight counts the calls still out.
	// The verdict Unsent undoes OnSend.
	OnResult(now time.Time, s throttle.Sent, inFlight int, f Feedback)
	// OnSignal tells of a hit on a guard further in. It may only cut the
	// window, and only once per epoch: a hit whose SentAt is not after the
	// last cut changes nothing.
	OnSignal(now time.Time, h *RateLimitHit)
	// View shows what the law holds at the moment.
	View() View
}

// Explainer is a State that can say in a few words what holds back those who
// wait, and what changes next: "the learnt rate of 9.8 requests/s, next in
// 40ms". Without it there is View.Bound.
type Explainer interface {
	Explain(now time.Time) string
}

// Listener is a State that can be told what a header says is left before the
// call has ended, as guard.Call.Heard does. What it hears then does not come again with OnResult.
type Listener interface {
	OnMeters(now time.Time, s throttle.Sent, m [throttle.Units]Meter)
}

// Saver is a State that can be saved for a later run. Both laws that ship are.
type Saver interface {
	// Save returns what was learnt, for Restore: JSON, with nothing secret in it.
	Save(now time.Time) ([]byte, error)
}

// Restorer is a Law whose states are Savers.
type Restorer interface {
	// Restore is Start for a run that goes on with what an earlier one saved.
	// What another law has saved is a *SavedError.
	Restore(now time.Time, seed uint64, saved []byte) (State, error)
}

// View is a snapshot of what a law has learnt.
type View struct {
	Concurrency int                     // the most calls in flight; 0: unbounded
	Pace        [throttle.Units]float64 // units per second; 0: not learnt
	GateUntil   time.Time               // nobody goes before; zero or in the past: the gate is open
	Bound       string                  // what held back the caller who was asked last; empty: nothing
	Hits        int64                   // refusals heard of, Overloaded included
	Cuts        int64                   // times the window was lowered
	Recoveries  int64                   // times it was raised again
	Decisions   Decisions               // the last few things that it decided
}
