package meter

import "time"

// Instant is a point in time as the duration since a moment of the caller's choice.
type Instant = time.Duration

// meter is the running state of one window.
type meter interface {
	// Wait returns how long until n units fit, 0 for now. n is between 1 and the window's Max.
	Wait(now Instant, n int64) time.Duration
	// Take charges n units at now, whether they fit or not.
	Take(now Instant, n int64)
	// giveBack returns n of the units that were taken at the instant at.
	giveBack(now, at Instant, n int64)
	// spent is how many units count against the window now.
	spent(now Instant) int64
	// frees returns how long until spent falls, and until it is 0; 0 if it is.
	frees(now Instant) (first, all time.Duration)
	// follow takes over the history of a meter that remembers in the same way.
	follow(now Instant, old meter) succession
	// append appends the state to b, and read reads it into a new meter of the same window.
	append(b []byte) []byte
	read(r *reader)
}

// succession is what becomes of a meter's history.
type succession uint8

const (
	unlike     succession = iota // the two remember in different ways
	followed                     // it goes on
	overflowed                   // it goes on, but of what was taken so far nothing can be given back any more
)

// Gauge is a window with what was taken from it.
type Gauge struct {
	Window
	Bucket *Bucket // the meter of a token bucket, nil for other windows
	meter  meter
	since  int64 // calls with a number up to this were not charged and have nothing to get back
}

// New returns a gauge from which nothing was taken. base is the instant 0, guard
// widens the window (see throttle.WithMargin). Calls with a number up to since
// were not charged.
func New(w Window, base time.Time, guard time.Duration, since int64) Gauge {
	g := Gauge{Window: w, since: since}
	switch w.Kind {
	case SlidingWindow:
		g.meter = newSliding(w, guard)
	case TokenBucket:
		g.Bucket = newBucket(w, guard)
		g.meter = g.Bucket
	case CalendarWindow:
		g.meter = newCalendar(w, base, guard)
	}
	return g
}

// Wait returns how long after now n units fit, 0 for now. n is between 1 and Max.
func (g *Gauge) Wait(now Instant, n int64) time.Duration { return g.meter.Wait(now, n) }

// Take charges n units at now, whether they fit or not.
func (g *Gauge) Take(now Instant, n int64) { g.meter.Take(now, n) }

// Sliding returns the meter of a sliding window, nil for other windows.
func (g *Gauge) Sliding() *Sliding {
	m, _ := g.meter.(*Sliding)
	return m
}

// Spent returns how many units count against the window at now.
func (g *Gauge) Spent(now Instant) int64 { return g.meter.spent(now) }

// Frees returns how long after now Spent falls, and how long until it is 0; 0 if it is.
func (g *Gauge) Frees(now Instant) (first, all time.Duration) { return g.meter.frees(now) }

// Settle gives back less of the units that the call with this number took at
// the instant taken, or charges them if less is negative. It reports whether
// the gauge has changed.
func (g *Gauge) Settle(now Instant, number int64, taken Instant, less int64) bool {
	switch {
	case less > 0 && number > g.since:
		g.meter.giveBack(now, taken, less)
	case less < 0:
		g.meter.Take(now, -less)
	default:
		return false
	}
	return true
}

// Seal makes the calls with a number up to this have nothing to get back.
func (g *Gauge) Seal(number int64) { g.since = number }
