package meter

import "time"

// Kind is how a window counts.
type Kind uint8

// The kinds of windows. The zero Kind counts nothing.
const (
	SlidingWindow  Kind = iota + 1 // Max units in any interval of length Per
	TokenBucket                    // Rate units per second, Max of them at once
	CalendarWindow                 // Max units in each calendar period
)

// Window is throttle.Window with visible fields. It has been validated.
type Window struct {
	Kind   Kind
	Unit   uint8 // what is counted, as an index
	Max    int64
	Per    time.Duration // SlidingWindow, CalendarWindow
	Rate   float64       // TokenBucket: units per second
	Anchor time.Time     // CalendarWindow: when some period begins
}

// Forever is a wait that time alone does not end.
const Forever time.Duration = 1<<63 - 1

// LongestFill bounds Per and Max/Rate, so that an instant computed from them fits a time.Duration.
const LongestFill = 100 * 365 * 24 * time.Hour
