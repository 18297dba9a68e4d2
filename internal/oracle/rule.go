package oracle

import (
	"fmt"
	"math"
	"time"
)

type algorithm uint8

const (
	none algorithm = iota
	sliding
	bucket
	fixed
	concurrency
	fifo
)

// Rule is a limit to judge by. Make one with Sliding, Bucket, Fixed,
// Concurrency or FIFO. It is immutable and safe to share.
type Rule struct {
	algorithm algorithm
	unit      int
	max       int64 // or the bucket's burst
	rate      int64 // bucket: units in each per
	per       time.Duration
	anchor    time.Time
	epoch     time.Time
	slack     time.Duration
}

// Sliding allows at most max units in any interval [t, t+per).
//
// Resized, it looks back as far as the old window did at that instant, and no
// farther: a longer window does not know what the shorter one had forgotten.
func Sliding(unit int, max int64, per time.Duration) Rule {
	return Rule{algorithm: sliding, unit: unit, max: max, per: per}
}

// Bucket allows, from any admission to any later one, both included, at most
// burst units and as many more as come in between at rate units in each per. A
// third of a unit per second is a rate of 1 per 3 s.
//
// Resized, the units that were left are kept, up to the new burst: a larger
// burst adds none, and a debt stays as it is.
//
// What enforces a bucket in floating point may round its rate by one part in
// 10^16; where that is not exact, give it a slack of some nanoseconds.
func Bucket(unit int, rate int64, per time.Duration, burst int64) Rule {
	return Rule{algorithm: bucket, unit: unit, max: burst, rate: rate, per: per}
}

// Fixed allows at most max units in each period [anchor+k*per, anchor+(k+1)*per)
// of a calendar, for every whole k. A per of whole days means days by date in
// the anchor's location, which may be 23 or 25 hours long. The epoch is the
// instant that the log calls 0.
//
// Resized, what the running period holds counts until the new one's present
// period ends.
func Fixed(unit int, max int64, per time.Duration, anchor, epoch time.Time) Rule {
	return Rule{algorithm: fixed, unit: unit, max: max, per: per, anchor: anchor.Round(0), epoch: epoch.Round(0)}
}

// Concurrency allows at most max calls between admission and End.
func Concurrency(max int64) Rule { return Rule{algorithm: concurrency, max: max} }

// FIFO allows no admission with a lower ticket than one before it, unless it is
// marked as returning.
func FIFO() Rule { return Rule{algorithm: fifo} }

// WithSlack returns the rule for a log in which two admissions may stand closer
// together by up to d than they were: by the jitter of a network, or by the
// lateness of one timer that a limiter gives credit for. A sliding window is
// judged over per-d, a bucket gets what refills in d, and the first d of a
// period, where what was sent before may arrive, is not counted. Concurrency
// and FIFO know no slack.
func (r Rule) WithSlack(d time.Duration) Rule {
	r.slack = d
	return r
}

// String describes the rule, such as "10 requests in any 1s".
func (r Rule) String() string {
	slack := ""
	if r.slack != 0 {
		slack = fmt.Sprintf(" (slack %s)", r.slack)
	}
	switch r.algorithm {
	case sliding:
		return fmt.Sprintf("%d %s in any %s%s", r.max, r.unitName(), r.per, slack)
	case bucket:
		return fmt.Sprintf("bucket of %d %s, %d per %s%s", r.max, r.unitName(), r.rate, r.per, slack)
	case fixed:
		return fmt.Sprintf("%d %s in each %s since %s%s", r.max, r.unitName(), r.per, r.anchor.Format(time.RFC3339), slack)
	case concurrency:
		return fmt.Sprintf("%d at once", r.max)
	case fifo:
		return "first come, first served"
	default:
		return "rule without an algorithm"
	}
}

var unitNames = [Units]string{"requests", "tokens", "input tokens", "output tokens", "points"}

func (r Rule) unitName() string {
	if r.unit < 0 || r.unit >= Units {
		return fmt.Sprintf("of unit %d", r.unit)
	}
	return unitNames[r.unit]
}

// check says why the rule cannot be judged by.
func (r Rule) check() error {
	var problem string
	switch windowed := r.algorithm <= fixed; {
	case r.algorithm == none:
		problem = "make it with Sliding, Bucket, Fixed, Concurrency or FIFO"
	case r.unit < 0 || r.unit >= Units:
		problem = "no such unit"
	case r.max < 0 || r.max > math.MaxInt64/4:
		problem = "the maximum is out of range"
	case windowed && r.per <= 0:
		problem = "the period is not positive"
	case r.algorithm == bucket && r.rate <= 0:
		problem = "the rate is not positive"
	case r.slack < 0:
		problem = "the slack is negative"
	case windowed && r.algorithm != bucket && r.slack >= r.per:
		problem = "the slack leaves nothing of the period"
	default:
		return nil
	}
	return fmt.Errorf("oracle: %s: %s", r, problem)
}
