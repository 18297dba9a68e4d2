package meter

import "time"

// calendar counts what was taken in the present period of a calendar.
type calendar struct {
	window     Window
	base       time.Time // the instant 0
	guard      time.Duration
	begin, end Instant // of the present period
	sum        int64   // what was taken since counts, also if that was in an earlier period
	counts     Instant
	late       int64 // of sum, what was taken since lates: so shortly before the end that it may arrive after it
	lates      Instant
}

func newCalendar(w Window, base time.Time, guard time.Duration) *calendar {
	m := &calendar{window: w, base: base, guard: guard}
	m.begin, m.end = m.period(0)
	m.counts, m.lates = m.begin, m.end-guard
	return m
}

// period is the one that holds t.
func (m *calendar) period(t Instant) (begin, end Instant) {
	from, to := m.window.Period(m.base.Add(t))
	return from.Sub(m.base), to.Sub(m.base)
}

func (m *calendar) roll(now Instant) {
	if now < m.end {
		return
	}
	ended := m.end
	m.begin, m.end = m.period(now)
	switch {
	case m.begin < ended: // the base was moved: what was taken before may be in this period too
	case m.begin == ended:
		m.sum, m.counts = m.late, m.lates
	default:
		m.sum, m.counts = 0, m.begin
	}
	m.late, m.lates = 0, m.end-m.guard
}

func (m *calendar) Wait(now Instant, n int64) time.Duration {
	m.roll(now)
	most := m.window.Max - n
	switch {
	case m.sum <= most:
		return 0
	case m.late <= most:
		return m.end - now
	}
	_, end := m.period(m.end)
	return end - now
}

func (m *calendar) Take(now Instant, n int64) {
	m.roll(now)
	m.sum += n
	if now >= m.lates {
		m.late += n
	}
}

func (m *calendar) giveBack(now, at Instant, n int64) {
	m.roll(now)
	if at >= m.lates {
		m.late = max(0, m.late-n)
	}
	if at >= m.counts {
		m.sum = max(0, m.sum-n)
	}
}

func (m *calendar) spent(now Instant) int64 {
	m.roll(now)
	return m.sum
}

func (m *calendar) frees(now Instant) (first, all time.Duration) {
	m.roll(now)
	if m.sum == 0 {
		return 0, 0
	}
	first, all = m.end-now, m.end-now
	if m.late > 0 {
		_, end := m.period(m.end)
		all = end - now
		if m.late == m.sum {
			first = all
		}
	}
	return first, all
}

// follow takes over what was spent in the other's period, until the own one
// ends. If that is about to happen, all of it may arrive after the end.
func (m *calendar) follow(now Instant, old meter) succession {
	from, ok := old.(*calendar)
	if !ok {
		return unlike
	}
	from.roll(now)
	m.roll(now)
	m.sum, m.counts = from.sum, from.counts
	switch {
	case m.end == from.end && m.guard == from.guard:
		m.late, m.lates = from.late, from.lates
	case now >= m.lates:
		m.late, m.lates = from.sum, from.counts
	}
	return followed
}
