package meter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	maxAmount = 1 << 40
	second    = time.Second
)

const (
	requests uint8 = iota
	tokens
)

func slidingWindow(maximum int64, per time.Duration) Window {
	return Window{Kind: SlidingWindow, Max: maximum, Per: per}
}

func tokenBucket(rate float64, burst int64) Window {
	return Window{Kind: TokenBucket, Max: burst, Rate: rate}
}

func calendarWindow(maximum int64, per time.Duration) Window {
	return Window{Kind: CalendarWindow, Max: maximum, Per: per, Anchor: time.Date(1970, time.January, 5, 0, 0, 0, 0, time.UTC)}
}

func (w Window) of(unit uint8) Window {
	w.Unit = unit
	return w
}

func slidingOf(maximum int64, per time.Duration) *Sliding {
	return newSliding(slidingWindow(maximum, per), 0)
}

func bucketOf(perSecond float64, burst int64) *Bucket {
	return newBucket(tokenBucket(perSecond, burst), 0)
}

func calendarOf(t *testing.T, maximum int64, guard time.Duration) *calendar {
	t.Helper()
	return newCalendar(calendarWindow(maximum, time.Hour), at(t, "UTC", "2026-01-01 10:15:00"), guard)
}

func at(t *testing.T, zone, text string) time.Time {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	require.NoError(t, err)
	p, err := time.ParseInLocation("2006-01-02 15:04:05", text, loc)
	require.NoError(t, err)
	return p
}
