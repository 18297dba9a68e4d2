package meter

import "time"

// calendar counts what was taken in the present period of a calendar.
type calendar struct {
	window     Window
	base       time.Time // the instant 0
	guard      time.Duration
	begin, end Instant // of the present period
	sum        int64
	late       int64 // of sum: taken so shortly before the end that it may arrive after it
}

func newCalendar(w Window, base time.Time, guard time.Duration) *calendar {
	m := &calendar{window: w, base: base, guard: guard}
	m.begin, m.end = m.period(0)
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
	m.sum = 0
	if m.begin == ended {
		m.sum = m.late
	}
	m.late = 0
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
	if m.end-now <= m.guard {
		m.late += n
	}
}

func (m *calendar) giveBack(now, at Instant, n int64) {
	m.roll(now)
	if m.end-at <= m.guard {
		m.late = max(0, m.late-n)
	}
	if at >= m.begin || m.begin-at <= m.guard {
		m.sum = max(0, m.sum-n)
	}
}

func (m *calendar) spent(now Instant) int64 {
	m.roll(now)
	return m.sum
}

// follow takes over what was spent in the other's period.
func (m *calendar) follow(now Instant, old meter) succession {
	from, ok := old.(*calendar)
	if !ok {
		return unlike
	}
	from.roll(now)
	m.roll(now)
	m.sum, m.late = from.sum, from.late
	return followed
}
