package provider

import "time"

// minute counts calls in fixed minutes.
type minute struct {
	most  int
	start time.Duration
	count int
}

func newMinute(most int) *minute {
	if most == 0 {
		return nil
	}
	return &minute{most: most}
}

func (m *minute) wait(now time.Duration) time.Duration {
	if now >= m.start+time.Minute {
		m.start = now.Truncate(time.Minute)
		m.count = 0
	}
	if m.count < m.most {
		return 0
	}
	return m.start + time.Minute - now
}

func (m *minute) take() { m.count++ }

// fewest is what a window never falls below.
const fewest = 5

func (m *minute) scale(factor float64) { m.most = int(max(fewest, float64(m.most)*factor)) }

func (m *minute) meter(now time.Duration) Meter {
	return Meter{
		Known: true, Limit: int64(m.most), Remaining: int64(max(0, m.most-m.count)),
		Reset: m.start + time.Minute - now,
	}
}
