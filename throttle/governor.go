package throttle

import (
	"math"
	"time"
)

// Forever is a wait that only an event ends, such as a release or new limits.
const Forever time.Duration = math.MaxInt64

// Sent describes one admission, for a control law.
type Sent struct {
	Seq      int64     // running number of admissions, from 1
	At       time.Time // when the call was admitted
	InFlight int       // how many other calls were in flight at that moment
	Cost     Cost      // what was reserved for it
	Total    Cost      // running sum of all that was admitted, this call included
}

// governor is a control law as the limiter sees it. The limiter calls it under
// its lock, never concurrently; a governor returns at once and does not call the
// limiter. Time is an argument and never steps back. Package guard declares the
// same interface: they are one type.
type governor = interface {
	// Admit is asked about the head of the queue, after all Limits admit it: 0
	// admits it, and after a positive wait, or at the next event, it is asked
	// again; Forever waits for an event. Only OnSend reports an admission.
	Admit(now time.Time, c Cost, inFlight int) (wait time.Duration)
	// Slack reports that the controller does not bind at this moment: no call waits,
	// or the configured limits hold the head back. The controller must not grow then.
	Slack(now time.Time)
	// OnSend reports an admission.
	OnSend(now time.Time, s Sent)
	// OnUnsent undoes OnSend for a call that was never sent.
	OnUnsent(now time.Time, s Sent)
}
