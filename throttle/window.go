package throttle

import (
	"math"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

type algorithm uint8

const (
	noAlgorithm algorithm = iota
	slidingLog
	tokenBucket
	calendar
)

// Window allows at most so many units per time. Make one with Sliding, Bucket
// or Fixed, or read it with UnmarshalText; the zero Window is refused by
// Validate. A Window is a description, immutable and safe to share.
type Window struct {
	algorithm algorithm
	unit      Unit
	max       int64
	per       time.Duration // slidingLog, calendar
	rate      float64       // tokenBucket: units per second
	anchor    time.Time     // calendar: when some period begins
}

// Sliding never admits more than max units in any interval of length per,
// wherever the interval begins. With a max up to 1,024 it is exact; with a
// larger one it may delay an admission by less than per/1024.
func Sliding(max int64, per time.Duration) Window {
	return Window{algorithm: slidingLog, max: max, per: per}
}

// Bucket refills at perSecond units and holds at most burst of them: after a
// pause burst units go at once, and never more than burst + perSecond*t in t
// seconds. It begins full.
//
// While callers wait in a queue, t may be 10 ms longer: what refilled while
// the queue's timer was late is not lost, or a fast bucket with a small burst
// would run at the pace of the timer. WithGuard takes this credit away, and a
// Store gives none: a fast bucket needs a burst there.
func Bucket(perSecond float64, burst int64) Window {
	return Window{algorithm: tokenBucket, max: burst, rate: perSecond}
}

// Fixed admits at most max units in each period of a calendar, as quotas do
// that are reset at midnight: one period begins at anchor, the others lie
// before and after it, per long each. A per of whole days means days in the
// location of the anchor, which are 23 or 25 hours long when its clocks
// change. The zero anchor means the days and hours of UTC, and weeks that
// begin on a Monday.
//
// Over the end of a period up to twice max can go. The calendar is read when
// the limiter is made: setting the system's clock later does not move it.
func Fixed(max int64, per time.Duration, anchor time.Time) Window {
	if anchor.IsZero() {
		anchor = monday(time.UTC)
	}
	return Window{algorithm: calendar, max: max, per: per, anchor: anchor.Round(0)}
}

// Of returns the window counting u instead of requests.
func (w Window) Of(u Unit) Window {
	w.unit = u
	return w
}

// Scaled returns the window with a share of its Max, such as 0.8, and of a
// bucket's rate. The Max is rounded down, but 1 is the least; unit, period and
// calendar stay. A share that is not above 0 and at most 1 gives the zero Window,
// which Validate refuses.
func (w Window) Scaled(share float64) Window {
	if !(share > 0 && share <= 1) {
		return Window{}
	}
	// A hair above, so that 0.29 of 100 is 29.
	w.max = min(w.max, max(1, int64(float64(w.max)*share*(1+0x1p-50))))
	w.rate *= share
	return w
}

// Unit returns what the window counts.
func (w Window) Unit() Unit { return w.unit }

// Max returns the most that one call may cost: the window's maximum, or the bucket's burst.
func (w Window) Max() int64 { return w.max }

// Rate returns how many units per second the window lets through in the long run.
func (w Window) Rate() float64 {
	if w.algorithm == tokenBucket {
		return w.rate
	}
	return float64(w.max) / w.per.Seconds()
}

// String writes the window as ParseLimits reads it, such as "5/s" or
// "bucket 150 tokens/min burst 10".
func (w Window) String() string { return w.text() }

// longestFill bounds burst/rate so that an instant computed from it fits a time.Duration.
const longestFill = 100 * 365 * 24 * time.Hour

func (w Window) check(field string, p *invalid.Problems) {
	switch w.algorithm {
	case noAlgorithm:
		p.Addf(field, "the window is empty: make it with Sliding, Bucket or Fixed")
		return
	case slidingLog, calendar:
		if w.per <= 0 {
			p.Addf(field+".Per", "%s is not a positive duration", w.per)
		}
		if w.per > longestFill {
			p.Addf(field+".Per", "%s is longer than a century", w.per)
		}
		if y := w.anchor.Year(); w.algorithm == calendar && (y < 1900 || y > 2200) {
			p.Addf(field+".Anchor", "the year %d is not between 1900 and 2200", y)
		}
	case tokenBucket:
		switch {
		case !(w.rate > 0) || math.IsInf(w.rate, 1):
			p.Addf(field+".PerSecond", "%g is not a positive, finite rate", w.rate)
		case float64(w.max)/w.rate > longestFill.Seconds():
			p.Addf(field+".PerSecond", "%g takes longer than a century to fill a burst of %d", w.rate, w.max)
		}
	}
	if w.max < 1 || w.max > MaxAmount {
		p.Addf(field+".Max", "%d is not between 1 and %d", w.max, int64(MaxAmount))
	}
	if w.unit >= Units {
		p.Addf(field+".Unit", "%s is not a unit", w.unit)
	}
}
