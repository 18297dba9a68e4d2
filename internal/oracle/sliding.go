package oracle

import (
	"errors"
	"sort"
	"time"
)

// line is what an entry still weighs.
type line struct {
	at    time.Duration
	entry int
	n     int64
}

// slidingMeter keeps the entries of the last period in a ring, oldest first.
type slidingMeter struct {
	rule Rule
	ring []line // its length is a power of two
	head int
	len  int
	sum  int64
}

var errTooMuch = errors.New("more units were returned than taken")

func newSlidingMeter(r Rule) *slidingMeter { return &slidingMeter{rule: r, ring: make([]line, 16)} }

func (m *slidingMeter) nth(i int) *line { return &m.ring[(m.head+i)&(len(m.ring)-1)] }

func (m *slidingMeter) expire(now time.Duration) {
	for m.len > 0 && m.nth(0).at <= now-(m.rule.per-m.rule.slack) {
		m.sum -= m.nth(0).n
		m.head = (m.head + 1) & (len(m.ring) - 1)
		m.len--
	}
}

func (m *slidingMeter) step(i int, e *Entry) (f finding, err error) {
	n := e.Weights[m.rule.unit]
	if n == 0 {
		return f, nil
	}
	m.expire(e.At)
	switch e.Kind {
	case Admission, Debit:
		m.push(line{e.At, i, n})
		if e.Kind == Admission {
			f = finding{float64(m.sum), float64(m.rule.max), true, m.sum > m.rule.max}
		}
	case GiveBack:
		k := sort.Search(m.len, func(k int) bool { return m.nth(k).entry >= e.Of })
		if k == m.len || m.nth(k).entry != e.Of {
			return f, nil // it has left the window
		}
		l := m.nth(k)
		if l.n < n {
			return f, errTooMuch
		}
		l.n -= n
		m.sum -= n
	case End, Resize:
	}
	return f, nil
}

func (m *slidingMeter) push(l line) {
	if m.len == len(m.ring) {
		ring := make([]line, 2*len(m.ring))
		for i := range m.len {
			ring[i] = *m.nth(i)
		}
		m.ring, m.head = ring, 0
	}
	m.len++
	*m.nth(m.len - 1) = l
	m.sum += l.n
}

func (m *slidingMeter) resize(_ int, at time.Duration, to Rule) error {
	m.expire(at)
	m.rule = to
	return nil
}
