package throttle

import (
	"math"
	"time"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/meter"
)

// WindowKind is how a window counts; 0 for the zero Window.
type WindowKind uint8

const (
	// SlidingWindow admits Max units in any interval of length Per: see Sliding.
	SlidingWindow = WindowKind(meter.SlidingWindow)
	// TokenBucket refills at Rate units per second, up to Max: see Bucket.
	TokenBucket = WindowKind(meter.TokenBucket)
	// CalendarWindow admits Max units in each calendar period: see Fixed.
	CalendarWindow = WindowKind(meter.CalendarWindow)
)

// Window allows a number of units per time. Make one with Sliding, Bucket or
// Fixed; the zero Window is invalid. Windows are immutable.
type Window struct{ spec meter.Window }

// Sliding admits at most max units in any interval of length per. It is exact
// up to a max of 1,024; above, an admission may be delayed by less than
// per/1024.
func Sliding(max int64, per time.Duration) Window {
	return Window{meter.Window{Kind: meter.SlidingWindow, Max: max, Per: per}}
}

// Bucket refills at perSecond units and holds at most burst of them, with which
// it begins: at most burst + perSecond*t units are admitted in t seconds.
//
// While calls wait in a queue, t may be 10 ms longer, so that a late timer
// costs a fast bucket nothing. WithMargin and a quota.Store do without that
// credit.
func Bucket(perSecond float64, burst int64) Window {
	return Window{meter.Window{Kind: meter.TokenBucket, Max: burst, Rate: perSecond}}
}

// Fixed admits at most max units in each period of a calendar, as quotas do
// that reset at midnight. A period of length per begins at anchor. If per is
// whole days, they are days in the anchor's location, of 23 or 25 hours when
// its clocks change. The zero anchor means UTC, with weeks from Monday.
//
// Around the end of a period up to twice max can be admitted. Later changes of
// the system clock do not move the calendar.
func Fixed(max int64, per time.Duration, anchor time.Time) Window {
	if anchor.IsZero() {
		anchor = monday(time.UTC)
	}
	return Window{meter.Window{Kind: meter.CalendarWindow, Max: max, Per: per, Anchor: anchor.Round(0)}}
}

// monday is the anchor of a calendar that was given none: a midnight, and the
// beginning of a week as ISO 8601 counts them.
func monday(in *time.Location) time.Time { return time.Date(1970, time.January, 5, 0, 0, 0, 0, in) }

// Of returns the window for u instead of requests.
func (w Window) Of(u Unit) Window {
	w.spec.Unit = uint8(u)
	return w
}

// Scaled returns the window with a share of its Max, rounded down to at least
// 1, and of a bucket's rate. A share outside (0, 1] gives the zero Window.
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

// Max returns the most that one call may cost: the maximum, or a bucket's
// burst.
func (w Window) Max() int64 { return w.spec.Max }

// Rate returns the long-term rate in units per second.
func (w Window) Rate() float64 {
	if w.Kind() == TokenBucket {
		return w.spec.Rate
	}
	return float64(w.spec.Max) / w.spec.Per.Seconds()
}

// Per returns the length of a window, 24 hours for a calendar day, or the time
// in which an empty bucket fills.
func (w Window) Per() time.Duration {
	if w.Kind() == TokenBucket {
		return time.Duration(float64(w.spec.Max) / w.spec.Rate * float64(time.Second))
	}
	return w.spec.Per
}

// Anchor returns the start of a period of a calendar window, in its location;
// otherwise the zero time.
func (w Window) Anchor() time.Time { return w.spec.Anchor }

// Period returns the period of a calendar window that contains t, without its
// end; for other windows both are t.
func (w Window) Period(t time.Time) (start, end time.Time) {
	if w.Kind() != CalendarWindow || w.spec.Per <= 0 {
		return t, t
	}
	return w.spec.Period(t)
}

// String writes the window as ParseLimits reads it.
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
