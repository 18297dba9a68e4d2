// Package clock tells a shell what time it is. State machines never use it:
// they are handed the time as an argument.
package clock

import (
	"reflect"
	"time"

	"github.com/jonboulle/clockwork"
)

// Clock counts from the moment it was made. The real clock is recognised once
// and read as time.Since, which costs less than time.Now and never steps
// back. The zero Clock is not usable; a Clock is safe for concurrent use.
type Clock struct {
	base  time.Time
	other *clockwork.Clock // nil: the real one, so that a Clock has half a cache line
}

var program = time.Now() //nolint:gochecknoglobals // when it began

// Program returns a real clock that counts from the beginning of the program. In a bubble of testing/synctest, which is in
// the past, its Elapsed is negative.
func Program() Clock { return Clock{base: program} }

// Ticks is the Elapsed of Program.
func Ticks() time.Duration { return time.Since(program) }

// New wraps c; nil means the real clock.
func New(c clockwork.Clock) Clock {
	if c == nil || reflect.TypeOf(c) == reflect.TypeOf(wall) {
		return Clock{base: time.Now()}
	}
	return Clock{base: c.Now(), other: &c}
}

var wall = clockwork.NewRealClock() //nolint:gochecknoglobals // it has no state

// Elapsed is the time since the clock was made.
func (c *Clock) Elapsed() time.Duration {
	if c.other == nil {
		return time.Since(c.base)
	}
	return (*c.other).Since(c.base)
}

// Anchored returns a clock of the same instants that tells the time of day as it is now: the real clock may have been
// set since c was made.
func (c *Clock) Anchored() Clock {
	if c.other != nil {
		return *c
	}
	now := time.Now()
	return Clock{base: now.Add(-now.Sub(c.base))}
}

// At turns an elapsed time into a point in time.
func (c *Clock) At(elapsed time.Duration) time.Time { return c.base.Add(elapsed) }

// Until turns a point in time into an elapsed time.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.base) }

// Now is the present.
func (c *Clock) Now() time.Time { return c.base.Add(c.Elapsed()) }

// AfterFunc runs f in its own goroutine after d, unless it is stopped.
func (c *Clock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return c.Underlying().AfterFunc(d, f)
}

// Real reports whether it is the real clock, by which contexts end.
func (c *Clock) Real() bool { return c.other == nil }

// Underlying returns the clock that was wrapped, for handing it on.
func (c *Clock) Underlying() clockwork.Clock {
	if c.other == nil {
		return wall
	}
	return *c.other
}
