package throttle

import (
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/meter"
)

const stampLayout = "2006-01-02T15:04:05.999999999"

// parseAnchor reads what follows the @ of a fixed window: a time zone, an RFC
// 3339 time, or an RFC 9557 time, which has both.
func parseAnchor(s string) (anchor time.Time, problem string) {
	if s == "" || !isDigit(s[0]) {
		loc, problem := parseZone(s)
		if problem != "" {
			return time.Time{}, problem
		}
		return monday(loc), ""
	}
	stamp, zone, zoned := strings.Cut(s, "[")
	anchor, ok := parseStamp(stamp)
	if !ok {
		return time.Time{}, "it is not an RFC 3339 time, such as 2026-01-01T09:30:00-08:00"
	}
	if !zoned {
		return anchor, ""
	}
	zone, closed := strings.CutSuffix(zone, "]")
	if !closed {
		return time.Time{}, "the ] after the time zone is missing"
	}
	loc, problem := parseZone(strings.TrimPrefix(zone, "!"))
	if problem != "" {
		return time.Time{}, problem
	}
	_, offset := anchor.Zone()
	anchor = anchor.In(loc)
	if _, actual := anchor.Zone(); actual != offset && !strings.HasSuffix(stamp, "Z") {
		return time.Time{}, fmt.Sprintf("the offset is not that of %s at this time, which is %s", loc, formatOffset(anchor))
	}
	return anchor, ""
}

func parseZone(name string) (loc *time.Location, problem string) {
	if name == "" {
		return nil, "the time zone is missing: write UTC, a name such as America/Los_Angeles, or an RFC 3339 time"
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Sprintf("the time zone %q is unknown: write a name of the IANA database such as America/Los_Angeles, "+
			"or a time with an offset; where a machine has no such database, import time/tzdata", clip(name))
	}
	return loc, ""
}

// formatAnchor is the inverse of parseAnchor, as far as periods go.
func (w Window) formatAnchor() string {
	t, zone := w.spec.Anchor, w.spec.Anchor.Location().String()
	if isFixedZone(t) {
		zone = ""
		if _, offset := t.Zone(); offset == 0 {
			t, zone = t.UTC(), "UTC"
		}
	}
	if zone != "" && w.sameCalendar(monday(t.Location())) {
		return zone
	}
	s := t.Format(stampLayout) + formatOffset(t)
	if zone != "" && zone != "UTC" {
		s += "[" + zone + "]"
	}
	return s
}

// parseStamp reads an RFC 3339 time. An offset may have seconds, as local mean
// times do. (time.Parse takes the machine's own zone for the offset it has at
// the time, and -00:00:01 for none.)
func parseStamp(s string) (t time.Time, ok bool) {
	split := strings.LastIndexAny(s, "Z+-")
	if split < 0 {
		return time.Time{}, false
	}
	zone := time.UTC
	if s[split:] != "Z" {
		layout := time.TimeOnly
		if len(s)-split == len("+07:00") {
			layout = "15:04"
		}
		clock, err := time.Parse(layout, s[split+1:])
		if err != nil {
			return time.Time{}, false
		}
		offset := clock.Hour()*3600 + clock.Minute()*60 + clock.Second()
		if s[split] == '-' {
			offset = -offset
		}
		zone = time.FixedZone("", offset)
	}
	t, err := time.ParseInLocation(stampLayout, s[:split], zone)
	return t, err == nil
}

// formatOffset writes what parseStamp reads. (Time.Format makes +00:00:-01 of
// a second to the west.)
func formatOffset(t time.Time) string {
	_, offset := t.Zone()
	sign := '+'
	switch {
	case offset == 0:
		return "Z"
	case offset < 0:
		sign, offset = '-', -offset
	}
	s := fmt.Sprintf("%c%02d:%02d", sign, offset/3600, offset/60%60)
	if offset%60 != 0 {
		s += fmt.Sprintf(":%02d", offset%60)
	}
	return s
}

// sameCalendar tells whether w has the same periods with another anchor in the same zone.
func (w Window) sameCalendar(anchor time.Time) bool {
	if w.spec.Per < 1 {
		return false
	}
	if w.spec.Per%day != 0 {
		return w.spec.Anchor.Sub(anchor)%w.spec.Per == 0
	}
	return w.spec.Anchor.Format(time.TimeOnly) == anchor.Format(time.TimeOnly) && w.spec.Anchor.Nanosecond() == anchor.Nanosecond() &&
		(meter.DayNumber(w.spec.Anchor)-meter.DayNumber(anchor))%int(w.spec.Per/day) == 0
}

// hasNamedZone reports whether the zone can be loaded again by its name. A zone with a fixed offset needs no name.
func hasNamedZone(t time.Time) bool {
	if isFixedZone(t) {
		return true
	}
	loc, err := time.LoadLocation(t.Location().String())
	if err != nil {
		return false
	}
	begin, end := t.ZoneBounds()
	loadedBegin, loadedEnd := t.In(loc).ZoneBounds()
	return begin.Equal(loadedBegin) && end.Equal(loadedEnd)
}

func isFixedZone(t time.Time) bool {
	begin, end := t.ZoneBounds()
	return begin.IsZero() && end.IsZero()
}
