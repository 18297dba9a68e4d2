package provider

import "time"

// Tale is how headers differ from the truth. The zero Tale is the truth.
type Tale struct {
	Absent    bool    // there are no headers, whatever Config says
	Limit     float64 // the limit is multiplied by it; 0: it is true
	Remaining float64 // what remains is multiplied by it; 0: it is true
	Whole     bool    // the reset is rounded up to whole seconds
	Round     int64   // what remains of tokens is rounded to a multiple of it, down or up; 0: it is not
}

func (t *Tale) calls(m Meter) Meter {
	if t.Limit > 0 {
		m.Limit = max(1, int64(float64(m.Limit)*t.Limit+0.5))
	}
	if t.Remaining > 0 {
		m.Remaining = int64(float64(m.Remaining) * t.Remaining)
	}
	if t.Whole {
		m.Reset = wholeSeconds(m.Reset)
	}
	return m
}

func (t *Tale) tokens(m Meter) Meter {
	m = t.calls(m)
	if t.Round > 0 {
		m.Remaining = (m.Remaining + t.Round/2) / t.Round * t.Round
	}
	return m
}

func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
