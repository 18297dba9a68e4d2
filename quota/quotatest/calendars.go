package quotatest

import (
	"time"

	"github.com/headrace/headrace/throttle"
)

// calendar is a fixed window of four requests.
func calendar(per time.Duration, anchor time.Time) limits {
	s := newSpec(fixed, throttle.Requests, 4, per)
	s.anchor = anchor
	return limits{windows: []spec{s}}
}

// nepal is a time in a zone that is not whole hours from UTC.
func nepal() time.Time {
	zone := time.FixedZone("", int((5*time.Hour + 45*time.Minute).Seconds()))
	return time.Date(2024, time.February, 29, 17, 3, 5, 7_000_001, zone)
}

// testAnchors: a calendar begins where its anchor is, which may be a time of
// another zone.
func testAnchors(w *watch) {
	at := nepal()
	for name, per := range map[string]time.Duration{"70ms": 70 * time.Millisecond, "130ms": 130 * time.Millisecond} {
		w.cycle(6, demand{key: name, limits: calendar(per, at)})
	}
	for name, per := range map[string]time.Duration{"hour": time.Hour, "7 h": 7 * time.Hour, "day": 24 * time.Hour, "3 days": 72 * time.Hour} {
		w.drain(6, 0, demand{key: name, limits: calendar(per, at)})
		w.drain(6, 0, demand{key: "later " + name, limits: calendar(per, at.AddDate(50, 0, 0))})
	}
}

// testDaylight: days are those of the anchor's zone, of which one in the year
// has 23 hours and one has 25. Hours are always as long.
func testDaylight(w *watch) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		w.Skip("this machine knows no time zones: ", err)
	}
	midnight := time.Date(2024, time.May, 1, 0, 0, 0, 0, zone)
	all := []demand{
		{key: "day", limits: calendar(24*time.Hour, midnight)},
		{key: "from nine", limits: calendar(24*time.Hour, midnight.Add(9*time.Hour))},
		{key: "week", limits: calendar(7*24*time.Hour, midnight)},
		{key: "six hours", limits: calendar(6*time.Hour, midnight)},
	}
	drain := func() {
		for _, d := range all {
			w.drain(6, 0, d)
		}
	}
	for range 2 {
		now := w.s.Epoch.Add(time.Duration(w.now()))
		_, change := now.In(zone).ZoneBounds()
		if change.IsZero() {
			w.Skip("the clocks of New York no longer change")
		}
		y, m, d := change.In(zone).Date()
		begins, ends := time.Date(y, m, d, 0, 0, 0, 0, zone), time.Date(y, m, d+1, 0, 0, 0, 0, zone)
		w.leap(begins.Add(-time.Hour).Sub(now)) // half a year, at most
		drain()
		for _, t := range []time.Time{begins.Add(-1), begins, begins.Add(6 * time.Hour), ends.Add(-1), ends, ends.Add(9*time.Hour - 1), ends.Add(9 * time.Hour)} {
			if left := t.Sub(w.s.Epoch) - time.Duration(w.now()); left > 0 {
				w.leap(left)
			}
			drain()
		}
	}
}
