package adaptive

import (
	"time"

	"github.com/headrace/headrace/throttle"
)

// Meter is what a response says about one unit.
type Meter struct {
	Known     bool // the response mentions the unit
	Limit     int64
	Remaining int64
	Reset     time.Duration // until Remaining is Limit again
}

// Feedback is what one response says about the limit.
type Feedback struct {
	Verdict    Verdict
	Kind       Kind                  // of a Hit, or KindOverload of a Transient failure
	RetryAfter time.Duration         // 0: not given
	SlowDown   bool                  // the rate rose too fast; the controller does not grow for 15 minutes
	Final      bool                  // the limit learns from it, but the call is not sent again
	Meters     [throttle.Units]Meter // indexed by throttle.Unit
	Used       throttle.Cost         // the actual cost; zero: as reserved
	Source     string                // such as "status 429"
	Err        error                 // that was judged, if any
}

// tooLong reports whether the provider wants a longer wait than a law waits out:
// the guard closes.
func (f *Feedback) tooLong() bool { return f.Verdict.refused() && f.RetryAfter > MaxRetryAfter }

// Detector judges the error of a call. For errors it does not know it returns
// the zero Feedback, and DefaultDetector is asked. Safe for concurrent use.
type Detector func(error) Feedback
