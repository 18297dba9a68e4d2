package oracle

import (
	"errors"
	"time"
)

// flightMeter counts the calls in flight.
type flightMeter struct {
	rule Rule
	n    int64
	open []uint64 // a bit for each entry with a call in flight
	base int      // the number of the first word
}

func (m *flightMeter) step(i int, e *Entry) (finding, error) {
	switch e.Kind {
	case Admission:
		m.begin(i)
		return finding{float64(m.n), float64(m.rule.max), true, m.n > m.rule.max}, nil
	case End:
		if !m.end(e.Of) {
			return finding{}, errNotInFlight
		}
	case Debit, GiveBack, Resize:
	}
	return finding{}, nil
}

var errNotInFlight = errors.New("the call that ends is not in flight")

func (m *flightMeter) begin(i int) {
	if m.n == 0 {
		m.open, m.base = m.open[:0], i/64
	}
	for len(m.open) <= i/64-m.base {
		m.open = append(m.open, 0)
	}
	m.open[i/64-m.base] |= 1 << (i % 64)
	m.n++
}

func (m *flightMeter) end(i int) bool {
	word := i/64 - m.base
	if word < 0 || word >= len(m.open) || m.open[word]&(1<<(i%64)) == 0 {
		return false
	}
	m.open[word] &^= 1 << (i % 64)
	m.n--
	for len(m.open) > 1 && m.open[0] == 0 {
		m.open, m.base = m.open[1:], m.base+1
	}
	return true
}

func (m *flightMeter) resize(_ int, _ time.Duration, to Rule) error {
	m.rule = to
	return nil
}

// lineMeter knows the highest ticket that was admitted.
type lineMeter struct {
	last int64
	deaf bool // it stands for a rule that makes no sense
}

func (m *lineMeter) step(_ int, e *Entry) (finding, error) {
	if e.Kind != Admission || e.Ticket == 0 || m.deaf {
		return finding{}, nil
	}
	behind := max(0, m.last-e.Ticket)
	m.last = max(m.last, e.Ticket)
	if e.Returning {
		behind = 0
	}
	return finding{float64(behind), 0, true, behind > 0}, nil
}

func (m *lineMeter) resize(int, time.Duration, Rule) error { return nil }
