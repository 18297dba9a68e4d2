package presets

import (
	"slices"
	"time"
)

// MaxAge is the age from which a preset is stale: a year.
const MaxAge = 365 * 24 * time.Hour

// Precision is how exactly a date is known.
type Precision uint8

// How exactly a date can be known.
const (
	ByDay   Precision = iota // 2026-07-15
	ByMonth                  // 2026-07
	ByYear                   // 2026
)

func (p Precision) layout() string {
	return [...]string{ByDay: time.DateOnly, ByMonth: "2006-01", ByYear: "2006"}[min(p, ByYear)]
}

func parseDate(s string) (t time.Time, p Precision, ok bool) {
	for p := range ByYear + 1 {
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

// Date writes AsOf as exactly as it is known: 2026-07-15, 2026-07 or 2026. It
// is empty for a profile without a date.
func (p Profile) Date() string {
	if p.AsOf.IsZero() {
		return ""
	}
	return p.AsOf.Format(p.Precision.layout())
}

// Age returns how long before now the source said so, at most: a date that is
// known by its year counts from January. It is 0 for a profile without a date.
func (p Profile) Age(now time.Time) time.Duration {
	if p.AsOf.IsZero() {
		return 0
	}
	return max(0, now.Sub(p.AsOf))
}

// Stale reports whether the profile is older than MaxAge.
func (p Profile) Stale(now time.Time) bool { return p.Age(now) > MaxAge }
