package throttle

import (
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

type algorithm uint8

const (
	noAlgorithm algorithm = iota
	slidingLog
	tokenBucket
)

// Window allows at most so many units per time. Make one with Sliding or
// Bucket; the zero Window is refused by Validate. A Window is a description:
// comparable, immutable and safe to share.
type Window struct {
	algorithm algorithm
	unit      Unit
	max       int64
	per       time.Duration // slidingLog
	rate      float64       // tokenBucket: units per second
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
func Bucket(perSecond float64, burst int64) Window {
	return Window{algorithm: tokenBucket, max: burst, rate: perSecond}
}

// Of returns the window counting u instead of requests.
func (w Window) Of(u Unit) Window {
	w.unit = u
	return w
}

// Unit returns what the window counts.
func (w Window) Unit() Unit { return w.unit }

// Max returns the most that one call may cost: the window's maximum, or the bucket's burst.
func (w Window) Max() int64 { return w.max }

// String describes the window, such as "100 requests per 1s" or "bucket of 10 tokens, 2.5 per second".
func (w Window) String() string {
	switch w.algorithm {
	case slidingLog:
		return fmt.Sprintf("%d %s per %s", w.max, w.unit, w.per)
	case tokenBucket:
		return fmt.Sprintf("bucket of %d %s, %g per second", w.max, w.unit, w.rate)
	case noAlgorithm:
	}
	return "window without an algorithm"
}

// longestFill bounds burst/rate so that an instant computed from it fits a time.Duration.
const longestFill = 100 * 365 * 24 * time.Hour

func (w Window) check(field string, p *invalid.Problems) {
	switch w.algorithm {
	case noAlgorithm:
		p.Addf(field, "the window is empty: make it with Sliding or Bucket")
		return
	case slidingLog:
		if w.per <= 0 {
			p.Addf(field+".Per", "%s is not a positive duration", w.per)
		}
		if w.per > longestFill {
			p.Addf(field+".Per", "%s is longer than a century", w.per)
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
