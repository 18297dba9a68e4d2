package adaptive

import (
	"time"

	"github.com/headrace/headrace/throttle"
)

// Meter is what one response said about one unit.
type Meter struct {
	Known     bool          // false: the response did not mention the unit
	Limit     int64         // the most that is possible at once
	Remaining int64         // what is left
	Reset     time.Duration // until Remaining is back at Limit
}

// Feedback is what one answer taught.
type Feedback struct {
	Verdict    Verdict
	Kind       Kind                  // which limit refused; for Hit
	RetryAfter time.Duration         // the wait that the provider asked for; 0: it did not say
	SlowDown   bool                  // of a refusal: the calls came in a ramp too steep, and the law does not grow for 15 minutes
	Final      bool                  // of a refusal: the law and the gate hear it, but the call is not sent again and fails with its own error
	Meters     [throttle.Units]Meter // indexed by throttle.Unit
	Used       throttle.Cost         // what the call really cost; zero: as reserved
	Source     string                // who says so, such as "status 429"
	Err        error                 // the error that was judged, if any
}

// tooLong reports whether the provider wants a longer wait than any call sits out.
func (f *Feedback) tooLong() bool { return f.Verdict.refused() && f.RetryAfter > MaxRetryAfter }

// Detector judges the error of a call. It returns the zero Feedback for an
// error that it does not know; DefaultDetector is asked then. It must be safe
// for concurrent use.
type Detector func(error) Feedback
