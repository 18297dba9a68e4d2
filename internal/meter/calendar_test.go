package meter

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPeriod(t *testing.T) {
	const la = "America/Los_Angeles"
	for name, tc := range map[string]struct {
		per                    time.Duration
		zone                   string
		anchor, t, begin, next string
	}{
		"an hour":                  {time.Hour, "UTC", "2026-01-01 00:00:00", "2026-05-05 12:34:56", "2026-05-05 12:00:00", "2026-05-05 13:00:00"},
		"its first moment":         {time.Hour, "UTC", "2026-01-01 00:00:00", "2026-05-05 12:00:00", "2026-05-05 12:00:00", "2026-05-05 13:00:00"},
		"before the anchor":        {time.Hour, "UTC", "2026-01-01 00:30:00", "2025-12-31 23:29:59", "2025-12-31 22:30:00", "2025-12-31 23:30:00"},
		"exactly before":           {time.Hour, "UTC", "2026-01-01 00:30:00", "2025-12-31 23:30:00", "2025-12-31 23:30:00", "2026-01-01 00:30:00"},
		"seven minutes":            {7 * time.Minute, "UTC", "2026-01-01 00:00:00", "2026-01-01 01:00:00", "2026-01-01 00:56:00", "2026-01-01 01:03:00"},
		"a day":                    {day, "UTC", "2026-01-01 00:00:00", "2026-07-01 23:59:59", "2026-07-01 00:00:00", "2026-07-02 00:00:00"},
		"a day from half past six": {day, "UTC", "2026-01-01 06:30:00", "2026-07-01 06:29:59", "2026-06-30 06:30:00", "2026-07-01 06:30:00"},
		"a week":                   {7 * day, "UTC", "1970-01-05 00:00:00", "2026-11-21 10:00:00", "2026-11-16 00:00:00", "2026-11-23 00:00:00"},
		"a week before the anchor": {7 * day, "UTC", "2026-11-16 00:00:00", "2026-11-15 23:59:59", "2026-11-09 00:00:00", "2026-11-16 00:00:00"},
		"a week from half past 6":  {7 * day, "UTC", "2026-01-05 06:30:00", "2026-07-06 06:29:59", "2026-06-29 06:30:00", "2026-07-06 06:30:00"},
		"400 days before anchor":   {400 * day, "UTC", "2026-01-01 00:00:00", "2025-12-31 23:59:59", "2024-11-27 00:00:00", "2026-01-01 00:00:00"},
		"the last of 400 days":     {400 * day, "UTC", "2026-01-01 00:00:00", "2027-02-04 23:59:59", "2026-01-01 00:00:00", "2027-02-05 00:00:00"},
		"a day of 23 hours":        {day, la, "2026-01-01 00:00:00", "2026-03-08 20:00:00", "2026-03-08 00:00:00", "2026-03-09 00:00:00"},
		"a day of 25 hours":        {day, la, "2026-01-01 00:00:00", "2026-11-01 20:00:00", "2026-11-01 00:00:00", "2026-11-02 00:00:00"},
		"across a change":          {2 * day, la, "2026-01-01 00:00:00", "2026-03-09 12:00:00", "2026-03-08 00:00:00", "2026-03-10 00:00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			w := Window{Kind: CalendarWindow, Max: 1, Per: tc.per, Anchor: at(t, tc.zone, tc.anchor)}
			begin, next := w.Period(at(t, tc.zone, tc.t).UTC())
			assert.Equal(t, at(t, tc.zone, tc.begin).Unix(), begin.Unix())
			assert.Equal(t, at(t, tc.zone, tc.next).Unix(), next.Unix())
		})
	}
}

// A place that left out a day, as Samoa did the 30th of December 2011, or a
// midnight, as Brazil did each spring. A period of three days was to begin then.
func TestADayThatWasLeftOut(t *testing.T) {
	for name, tc := range map[string]struct{ zone, anchor, from string }{
		"a day":      {"Pacific/Apia", "2011-01-01 00:00:00", "2011-12-20 12:00:00"},
		"a midnight": {"America/Sao_Paulo", "2018-01-02 00:00:00", "2018-10-25 12:30:00"},
	} {
		for _, per := range []time.Duration{day, 2 * day, 3 * day, 7 * day} {
			t.Run(fmt.Sprint(name, " ", per), func(t *testing.T) {
				w := Window{Kind: CalendarWindow, Max: 1, Per: per, Anchor: at(t, tc.zone, tc.anchor)}
				moment := at(t, tc.zone, tc.from)
				last, next := w.Period(moment)
				for range 400 {
					begin, end := w.Period(moment)
					require.False(t, begin.After(moment))
					require.True(t, end.After(moment))
					if begin.Equal(last) {
						require.Equal(t, next, end)
					} else {
						require.Equal(t, next, begin, "periods follow each other")
					}
					last, next, moment = begin, end, moment.Add(time.Hour)
				}
			})
		}
	}
}

func TestCalendar(t *testing.T) {
	m := calendarOf(t, 10, 0)
	assert.Zero(t, m.Wait(0, 10))
	m.Take(0, 7)
	assert.Zero(t, m.Wait(time.Minute, 3))
	assert.Equal(t, 44*time.Minute, m.Wait(time.Minute, 4), "until the clock strikes")
	m.Take(44*time.Minute, 3)
	assert.Equal(t, int64(10), m.spent(45*time.Minute-1))
	assert.Equal(t, time.Duration(1), m.Wait(45*time.Minute-1, 1))
	assert.Zero(t, m.spent(45*time.Minute), "all of it at once")
	assert.Zero(t, m.Wait(45*time.Minute, 10))
	stale := calendarOf(t, 10, 0)
	stale.Take(0, 7)
	stale.Take(5*time.Hour, 2) // a debt, before its period was queried
	assert.Equal(t, int64(2), stale.spent(5*time.Hour))
	m.Take(45*time.Minute, 15)
	assert.Equal(t, int64(15), m.spent(46*time.Minute), "a debt belongs to its period")
	assert.Zero(t, m.Wait(5*time.Hour, 10))
	assert.Equal(t, 5*time.Hour-15*time.Minute, m.begin, "periods that nobody asked about are left out")
}

func TestCalendarGivesBackToThePresentPeriodOnly(t *testing.T) {
	m := calendarOf(t, 10, 0)
	m.Take(10*time.Minute, 6)
	m.giveBack(20*time.Minute, 10*time.Minute, 4)
	assert.Equal(t, int64(2), m.spent(20*time.Minute))
	m.giveBack(20*time.Minute, 10*time.Minute, 4)
	assert.Zero(t, m.spent(20*time.Minute), "never below nothing")
	m.Take(30*time.Minute, 5)
	m.Take(50*time.Minute, 5)
	m.giveBack(50*time.Minute, 30*time.Minute, 5)
	assert.Equal(t, int64(5), m.spent(50*time.Minute))
}

// What goes within the guard before the end may arrive after it.
func TestCalendarWithGuard(t *testing.T) {
	const guard = time.Minute
	end := 45 * time.Minute
	m := calendarOf(t, 10, guard)
	m.Take(end-guard-1, 2)
	m.Take(end-guard, 3)
	m.Take(end-1, 4)
	assert.Equal(t, int64(9), m.spent(end-1))
	assert.Equal(t, time.Duration(1), m.Wait(end-1, 3))
	assert.Equal(t, time.Hour+1, m.Wait(end-1, 4), "the late ones count in the next period")
	m.giveBack(end-1, end-guard-1, 1)
	assert.Equal(t, int64(7), m.late, "that one was in time")
	m.giveBack(end-1, end-1, 1)
	assert.Equal(t, int64(6), m.late)
	assert.Equal(t, int64(6), m.spent(end))
	m.giveBack(end, end-1, 2)
	assert.Equal(t, int64(4), m.spent(end), "given back after the end")
	m.giveBack(end, end-guard, 1)
	assert.Equal(t, int64(3), m.spent(end), "also the first of the late ones")
	m.giveBack(end, end-guard-1, 3)
	assert.Equal(t, int64(3), m.spent(end), "what was in time is no longer there")
	assert.Zero(t, m.spent(end+time.Hour))

	m = calendarOf(t, 10, guard)
	m.Take(end-guard, 3)
	m.giveBack(end-1, end-guard, 1)
	assert.Equal(t, int64(2), m.late, "the first of the late ones")
	m.giveBack(end-1, end-guard, 2)
	assert.Zero(t, m.late)

	m = calendarOf(t, 10, guard)
	m.Take(end-1, 4)
	assert.Zero(t, m.spent(end+time.Hour), "too long ago to be late")
}

func TestCalendarFollows(t *testing.T) {
	old, m := calendarOf(t, 10, time.Minute), calendarOf(t, 5, time.Minute)
	old.Take(0, 3)
	old.Take(45*time.Minute-1, 4)
	require.Equal(t, followed, m.follow(45*time.Minute-1, old))
	assert.Equal(t, int64(7), m.spent(45*time.Minute-1), "more than it allows itself")
	assert.Equal(t, int64(4), m.spent(45*time.Minute))
	assert.Equal(t, unlike, m.follow(0, slidingOf(1, time.Second)))
	assert.Equal(t, unlike, slidingOf(1, time.Second).follow(0, m))
	assert.Equal(t, unlike, bucketOf(1, 1).follow(0, m))

	later := calendarOf(t, 5, 0)
	stale := calendarOf(t, 5, 0)
	stale.Take(0, 3)
	require.Equal(t, followed, later.follow(46*time.Minute, stale))
	assert.Zero(t, later.spent(46*time.Minute))
	stale.Take(46*time.Minute, 2)
	later = calendarOf(t, 5, 0)
	require.Equal(t, followed, later.follow(46*time.Minute, stale))
	assert.Equal(t, int64(2), later.spent(46*time.Minute), "also in a later period than the first")
}
