package throttle

import "time"

const day = 24 * time.Hour

// monday is the anchor of a calendar that was given none: a midnight, and the
// beginning of a week as ISO 8601 counts them.
func monday(in *time.Location) time.Time { return time.Date(1970, time.January, 5, 0, 0, 0, 0, in) }

// period is the one of w's calendar that holds t.
func (w Window) period(t time.Time) (begin, end time.Time) {
	if w.per%day != 0 {
		into := t.Sub(w.anchor) % w.per
		if into < 0 {
			into += w.per
		}
		begin = t.Add(-into)
		return begin, begin.Add(w.per)
	}
	days := int(w.per / day)
	k := (date(t.In(w.anchor.Location())) - date(w.anchor)) / days
	for begin = w.anchor.AddDate(0, 0, k*days); begin.After(t); begin = w.anchor.AddDate(0, 0, k*days) {
		k--
	}
	for end = w.anchor.AddDate(0, 0, (k+1)*days); !end.After(t); end = w.anchor.AddDate(0, 0, (k+1)*days) {
		k, begin = k+1, end
	}
	return begin, end
}

// date numbers the days.
func date(t time.Time) int {
	y, m, d := t.Date()
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / int64(day/time.Second))
}
