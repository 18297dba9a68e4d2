package presets

import (
	"slices"
	"time"
)

// maxAge is the age from which a preset is stale.
const maxAge = 365 * 24 * time.Hour

// precision is how exactly a date is known.
type precision uint8

const (
	byDay   precision = iota // 2026-07-15
	byMonth                  // 2026-07
	byYear                   // 2026
)

func (p precision) layout() string {
	return [...]string{byDay: time.DateOnly, byMonth: "2006-01", byYear: "2006"}[min(p, byYear)]
}

func parseDate(s string) (t time.Time, p precision, ok bool) {
	for p := range byYear + 1 {
		if len(s) != len(p.layout()) {
			continue
		}
		t, err := time.Parse(p.layout(), s)
		return t, p, err == nil
	}
	return time.Time{}, 0, false
}

// latest is the last date that can have come somewhere. A clock that is behind
// the dates of the table itself, as a test's is, has no say: latest is zero.
func latest(now time.Time) time.Time {
	if slices.ContainsFunc(Default().rows, func(p *Profile) bool { return p.AsOf.After(now) }) {
		return time.Time{}
	}
	return now.Add(day)
}

func (c *checker) isAhead(date time.Time) bool { return !c.latest.IsZero() && date.After(c.latest) }

// Date formats AsOf as exactly as it is known: 2026-07-15, 2026-07 or 2026. It
// is empty without a date.
func (p Profile) Date() string {
	if p.AsOf.IsZero() {
		return ""
	}
	return p.AsOf.Format(p.precision.layout())
}

// Stale reports whether AsOf is more than 365 days before now.
func (p Profile) Stale(now time.Time) bool { return !p.AsOf.IsZero() && now.Sub(p.AsOf) > maxAge }
