package throttle

import "time"

// fixedMeter counts what was taken in the present period of a calendar.
type fixedMeter struct {
	calendar   Window
	base       time.Time // the instant 0
	guard      time.Duration
	begin, end instant // of the present period
	sum        int64
	late       int64 // of sum: taken so shortly before the end that it may arrive after it
}

func newFixedMeter(w Window, base time.Time, guard time.Duration) *fixedMeter {
	m := &fixedMeter{calendar: w, base: base, guard: guard}
	m.begin, m.end = m.period(0)
	return m
}

// period is the one that holds t.
func (m *fixedMeter) period(t instant) (begin, end instant) {
	from, to := m.calendar.period(m.base.Add(t))
	return from.Sub(m.base), to.Sub(m.base)
}

func (m *fixedMeter) roll(now instant) {
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

func (m *fixedMeter) wait(now instant, n int64) time.Duration {
	m.roll(now)
	most := m.calendar.max - n
	switch {
	case m.sum <= most:
		return 0
	case m.late <= most:
		return m.end - now
	}
	_, end := m.period(m.end)
	return end - now
}

func (m *fixedMeter) take(now instant, n int64) {
	m.roll(now)
	m.sum += n
	if m.end-now <= m.guard {
		m.late += n
	}
}

func (m *fixedMeter) giveBack(now, at instant, n int64) {
	m.roll(now)
	if m.end-at <= m.guard {
		m.late = max(0, m.late-n)
	}
	if at >= m.begin || m.begin-at <= m.guard {
		m.sum = max(0, m.sum-n)
	}
}

func (m *fixedMeter) spent(now instant) int64 {
	m.roll(now)
	return m.sum
}

// follow takes over what was spent in the other's period.
func (m *fixedMeter) follow(now instant, old meter) succession {
	from, ok := old.(*fixedMeter)
	if !ok {
		return unlike
	}
	from.roll(now)
	m.roll(now)
	m.sum, m.late = from.sum, from.late
	return followed
}
