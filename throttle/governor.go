package throttle

import (
	"math"
	"time"
)

// Forever is the wait that time alone does not end: only an event such as a
// release, a settlement or new limits can help.
const Forever time.Duration = math.MaxInt64

// Sent is what the limiter notes about one admitted call. It is filled in
// under the limiter's lock, so Seq and Total have no gaps.
type Sent struct {
	Seq      int64     // running number of admissions, from 1
	At       time.Time // when the call was admitted
	InFlight int       // how many other calls were in flight at that moment
	Cost     Cost      // what was reserved for it
	Total    Cost      // running sum of all that was admitted, this call included
}

// Governor is what a control law is to the limiter. The limiter calls it
// under its own lock, never concurrently; a Governor must return at once and
// must not call the limiter. Time is an argument and never steps back.
type Governor interface {
	// Admit is asked about the head of the queue, after all Limits admit it.
	// 0 lets it go; a positive wait has it asked again then, or at the next
	// event if that is sooner; Forever waits for an event. It is a question:
	// only OnSend says that the call was admitted.
	Admit(now time.Time, c Cost, inFlight int) (wait time.Duration)
	// Slack says that the law does not bind at this moment: nobody waits, or
	// the user's own limits hold the head back. It is no time for growth.
	Slack(now time.Time)
	// OnSend tells of an admission.
	OnSend(now time.Time, s Sent)
	// OnUnsent undoes OnSend for a call that was never sent after all: its
	// permit was cancelled.
	OnUnsent(now time.Time, s Sent)
}
