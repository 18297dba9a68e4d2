package oracle

import (
	"math"
	"time"
)

// calendar walks the periods of a Fixed rule. The one it stands at counts what
// comes in [from, end).
type calendar struct {
	from, end time.Duration
}

// roll goes on to the period that holds now, and reports whether that is another.
func (c *calendar) roll(r Rule, now time.Duration) bool {
	if now < c.end {
		return false
	}
	begin, end := r.period(now)
	c.from, c.end = begin+r.slack, end
	return true
}

// period is the one that holds at.
func (r Rule) period(at time.Duration) (begin, end time.Duration) {
	const day = 24 * time.Hour
	bound := func(k int) time.Duration { return r.anchor.Add(time.Duration(k) * r.per).Sub(r.epoch) }
	if r.per%day == 0 {
		bound = func(k int) time.Duration { return r.anchor.AddDate(0, 0, k*int(r.per/day)).Sub(r.epoch) }
	}
	k := int(r.epoch.Add(at).Sub(r.anchor) / r.per)
	for bound(k) > at {
		k--
	}
	for bound(k+1) <= at {
		k++
	}
	return bound(k), bound(k + 1)
}

// fixedMeter sums up the running period.
type fixedMeter struct {
	rule  Rule
	cal   calendar
	first int // the first entry that it counts; entries have its number or a higher one
	sum   int64
}

func newFixedMeter(r Rule) *fixedMeter {
	return &fixedMeter{rule: r, cal: calendar{end: math.MinInt64}}
}

func (m *fixedMeter) roll(now time.Duration) {
	if m.cal.roll(m.rule, now) {
		m.sum, m.first = 0, math.MaxInt
	}
}

func (m *fixedMeter) step(i int, e *Entry) (f finding, err error) {
	n := e.Weights[m.rule.unit]
	if n == 0 {
		return f, nil
	}
	m.roll(e.At)
	switch e.Kind {
	case Admission, Debit:
		if e.At < m.cal.from {
			return f, nil
		}
		m.first = min(m.first, i)
		m.sum += n
		if e.Kind == Admission {
			f = finding{float64(m.sum), float64(m.rule.max), true, m.sum > m.rule.max}
		}
	case GiveBack:
		if e.Of < m.first {
			return f, nil
		}
		if m.sum < n {
			return f, errTooMuch
		}
		m.sum -= n
	case End, Resize:
	}
	return f, nil
}

func (m *fixedMeter) resize(_ int, at time.Duration, to Rule) error {
	m.roll(at)
	_, m.cal.end = to.period(at)
	m.rule = to
	return nil
}
