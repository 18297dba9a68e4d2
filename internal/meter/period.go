package meter

import "time"

const day = 24 * time.Hour

// Period returns the period of a calendar window that contains t.
func (w Window) Period(t time.Time) (begin, end time.Time) {
	if w.Per%day != 0 {
		into := t.Sub(w.Anchor) % w.Per
		if into < 0 {
			into += w.Per
		}
		begin = t.Add(-into)
		return begin, begin.Add(w.Per)
	}
	days := int(w.Per / day)
	k := (DayNumber(t.In(w.Anchor.Location())) - DayNumber(w.Anchor)) / days
	for begin = w.Anchor.AddDate(0, 0, k*days); begin.After(t); begin = w.Anchor.AddDate(0, 0, k*days) {
		k--
	}
	for end = w.Anchor.AddDate(0, 0, (k+1)*days); !end.After(t); end = w.Anchor.AddDate(0, 0, (k+1)*days) {
		k, begin = k+1, end
	}
	return begin, end
}

// DayNumber numbers the days of all calendars without a gap.
func DayNumber(t time.Time) int {
	y, m, d := t.Date()
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / int64(day/time.Second))
}
