package throttle

import (
	"math"
	"time"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/meter"
)

// WindowKind is how a window counts. It is 0 for the zero Window.
type WindowKind uint8

const (
	// SlidingWindow admits Max units in any interval of length Per: see Sliding.
	SlidingWindow = WindowKind(meter.SlidingWindow)
	// TokenBucket refills at Rate units per second, up to Max: see Bucket.
	TokenBucket = WindowKind(meter.TokenBucket)
	// CalendarWindow admits Max units in each calendar period: see Fixed.
	CalendarWindow = WindowKind(meter.CalendarWindow)
)

// Window allows at most so many units per time. Make one with Sliding, Bucket
// or Fixed, or read it with UnmarshalText; the zero Window is refused by
// Validate. A Window is a description, immutable and safe to share.
type Window struct{ spec meter.Window }

// Sliding never admits more than max units in any interval of length per,
// wherever the interval begins. With a max up to 1,024 it is exact; with a
// larger one it may delay an admission by less than per/1024.
func Sliding(max int64, per time.Duration) Window {
	return Window{meter.Window{Kind: meter.SlidingWindow, Max: max, Per: per}}
}

// Bucket refills at perSecond units and holds at most burst of them: after a
// pause burst units go at once, and never more than burst + perSecond*t in t
// seconds. It begins full.
//
// While callers wait in a queue, t may be 10 ms longer: what refilled while
// the queue's timer was late is not lost, or a fast bucket with a small burst
// would run at the pace of the timer. WithGuard takes this credit away, and a
// quota.Store gives none: a fast bucket needs a burst there.
func Bucket(perSecond float64, burst int64) Window {
	return Window{meter.Window{Kind: meter.TokenBucket, Max: burst, Rate: perSecond}}
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
	return Window{meter.Window{Kind: meter.CalendarWindow, Max: max, Per: per, Anchor: anchor.Round(0)}}
}

// monday is the anchor of a calendar that was given none: a midnight, and the
// beginning of a week as ISO 8601 counts them.
func monday(in *time.Location) time.Time { return time.Date(1970, time.January, 5, 0, 0, 0, 0, in) }

// Of returns the window counting u instead of requests.
func (w Window) Of(u Unit) Window {
	w.spec.Unit = uint8(u)
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
	w.spec.Max = min(w.spec.Max, max(1, int64(float64(w.spec.Max)*share*(1+0x1p-50))))
	w.spec.Rate *= share
	return w
}

// Kind returns how the window counts.
func (w Window) Kind() WindowKind { return WindowKind(w.spec.Kind) }

// Unit returns what the window counts.
func (w Window) Unit() Unit { return Unit(w.spec.Unit) }

// Max returns the most that one call may cost: the window's maximum, or the bucket's burst.
func (w Window) Max() int64 { return w.spec.Max }

// Rate returns how many units per second the window lets through in the long run.
func (w Window) Rate() float64 {
	if w.Kind() == TokenBucket {
		return w.spec.Rate
	}
	return float64(w.spec.Max) / w.spec.Per.Seconds()
}

// Per returns the length of a sliding window or of a calendar period; 24 hours
// stand for a calendar day. For a token bucket it is the time that an empty
// bucket takes to fill.
func (w Window) Per() time.Duration {
	if w.Kind() == TokenBucket {
		return time.Duration(float64(w.spec.Max) / w.spec.Rate * float64(time.Second))
	}
	return w.spec.Per
}

// Anchor returns when some period of a calendar window begins, in the location
// in which its days are counted. It is zero for other windows.
func (w Window) Anchor() time.Time { return w.spec.Anchor }

// Period returns the period of a calendar window that contains t: start is in
// it, end is not. For other windows both are t.
func (w Window) Period(t time.Time) (start, end time.Time) {
	if w.Kind() != CalendarWindow || w.spec.Per <= 0 {
		return t, t
	}
	return w.spec.Period(t)
}

// String writes the window as ParseLimits reads it, such as "5/s" or
// "bucket 150 tokens/min burst 10".
func (w Window) String() string { return w.text() }

func (w Window) sound() bool {
	var p invalid.Problems
	w.check("", &p)
	return p.Err() == nil
}

func (w Window) check(field string, p *invalid.Problems) {
	switch w.Kind() {
	case 0:
		p.Addf(field, "the window is empty: make it with Sliding, Bucket or Fixed")
		return
	case SlidingWindow, CalendarWindow:
		if w.spec.Per <= 0 {
			p.Addf(field+".Per", "%s is not a positive duration", w.spec.Per)
		}
		if w.spec.Per > meter.LongestFill {
			p.Addf(field+".Per", "%s is longer than a century", w.spec.Per)
		}
		if y := w.spec.Anchor.Year(); w.Kind() == CalendarWindow && (y < 1900 || y > 2200) {
			p.Addf(field+".Anchor", "the year %d is not between 1900 and 2200", y)
		}
	case TokenBucket:
		switch {
		case !(w.spec.Rate > 0) || math.IsInf(w.spec.Rate, 1):
			p.Addf(field+".PerSecond", "%g is not a positive, finite rate", w.spec.Rate)
		case float64(w.spec.Max)/w.spec.Rate > meter.LongestFill.Seconds():
			p.Addf(field+".PerSecond", "%g takes longer than a century to fill a burst of %d", w.spec.Rate, w.spec.Max)
		}
	}
	if w.spec.Max < 1 || w.spec.Max > MaxAmount {
		p.Addf(field+".Max", "%d is not between 1 and %d", w.spec.Max, int64(MaxAmount))
	}
	if w.Unit() >= Units {
		p.Addf(field+".Unit", "%s is not a unit", w.Unit())
	}
}
