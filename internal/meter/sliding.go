package meter

import (
	"math/bits"
	"sort"
	"time"
)

// maxStamps is how many admissions a sliding window remembers one by one.
// Beyond it, stamps are rounded up to the end of a sub-slot of per/maxStamps.
const maxStamps = 1024

// fewStamps is how many a window has room for before it is used more: many
// keys are hardly used.
const fewStamps = 4

type stamp struct {
	at Instant
	n  int64
}

// Sliding remembers every admission of the last period in a ring of
// stamps, oldest first.
type Sliding struct {
	max  int64
	per  time.Duration
	slot time.Duration // 1 ns: exact; longer: stamps are rounded up to a multiple
	ring []stamp       // its length is a power of two
	head int
	len  int
	sum  int64
	gone Instant // what was taken up to then was forgotten by a shorter window before this one
}

func newSliding(w Window, guard time.Duration) *Sliding {
	m := &Sliding{max: w.Max, per: w.Per + guard, slot: 1, gone: -Forever}
	if w.Max > maxStamps {
		m.slot = max(1, w.Per/maxStamps)
	}
	m.ring = make([]stamp, 1<<bits.Len64(uint64(min(w.Max, fewStamps)-1))) //nolint:gosec // max is at least 1
	return m
}

func (m *Sliding) at(i int) *stamp { return &m.ring[(m.head+i)&(len(m.ring)-1)] }

// stampOf rounds UP: a unit may count longer than it has to, never shorter.
func (m *Sliding) stampOf(t Instant) Instant {
	if m.slot == 1 {
		return t
	}
	return (t + m.slot - 1) / m.slot * m.slot
}

func (m *Sliding) expire(now Instant) {
	for m.len > 0 {
		oldest := m.at(0)
		if oldest.n > 0 && now-oldest.at < m.per {
			return
		}
		m.sum -= oldest.n
		m.head = (m.head + 1) & (len(m.ring) - 1)
		m.len--
	}
}

// Exact returns after how long a unit does not count any more; false if the window rounds stamps.
func (m *Sliding) Exact() (per time.Duration, ok bool) { return m.per, m.max <= maxStamps }

// Stamps yields when units were taken, and how many, the oldest first.
func (m *Sliding) Stamps(yield func(at Instant, n int64) bool) {
	for i := range m.len {
		if s := m.at(i); !yield(s.at, s.n) {
			return
		}
	}
}

// Ahead reports whether a unit counts as taken after now, as those of a window that rounded stamps do.
func (m *Sliding) Ahead(now Instant) bool { return m.len > 0 && m.at(m.len-1).at > now }

// Wait returns how long until n units fit, 0 for now.
func (m *Sliding) Wait(now Instant, n int64) time.Duration {
	m.expire(now)
	excess := m.sum + n - m.max
	for i := 0; excess > 0 && i < m.len; i++ {
		s := m.at(i)
		if excess -= s.n; excess <= 0 {
			return s.at + m.per - now
		}
	}
	return 0
}

// Take charges n units at now, whether they fit or not.
func (m *Sliding) Take(now Instant, n int64) {
	m.expire(now)
	m.push(stamp{m.stampOf(now), n})
}

// push appends s; stamps arrive in order.
func (m *Sliding) push(s stamp) {
	m.sum += s.n
	if m.len > 0 {
		if last := m.at(m.len - 1); last.at >= s.at {
			last.n += s.n
			return
		}
	}
	if m.len == len(m.ring) {
		m.makeRoom()
	}
	*m.at(m.len) = s
	m.len++
}

// makeRoom drops the stamps with all units given back and, if they were few, doubles the ring.
func (m *Sliding) makeRoom() {
	kept := 0
	for i := range m.len {
		if s := *m.at(i); s.n > 0 {
			*m.at(kept) = s
			kept++
		}
	}
	m.len = kept
	if kept <= len(m.ring)/2 {
		return
	}
	ring := make([]stamp, 2*len(m.ring))
	for i := range m.len {
		ring[i] = *m.at(i)
	}
	m.ring, m.head = ring, 0
}

// giveBack lowers the stamp that the units were taken under. When it has
// expired, or was merged away, nothing is left to return: a stamp of the same
// sub-slot would be that of other calls.
func (m *Sliding) giveBack(_, at Instant, n int64) {
	if at <= m.gone {
		return
	}
	want := m.stampOf(at)
	i := sort.Search(m.len, func(i int) bool { return m.at(i).at >= want })
	if i == m.len {
		return
	}
	s := m.at(i)
	if s.at != want {
		return
	}
	n = min(n, s.n)
	s.n -= n
	m.sum -= n
}

func (m *Sliding) spent(now Instant) int64 {
	m.expire(now)
	return m.sum
}

func (m *Sliding) frees(now Instant) (first, all time.Duration) {
	m.expire(now)
	for i := range m.len {
		if s := m.at(i); s.n > 0 {
			all = s.at + m.per - now
			if first == 0 {
				first = all
			}
		}
	}
	return first, all
}

// follow takes over the other's history, as far back as either of them looks.
func (m *Sliding) follow(now Instant, old meter) succession {
	from, ok := old.(*Sliding)
	if !ok {
		return unlike
	}
	from.expire(now)
	m.gone = max(from.gone, from.stampOf(now-from.per+1)-from.slot)
	for i := range from.len {
		s := *from.at(i)
		s.at = m.stampOf(s.at)
		m.push(s)
	}
	m.expire(now)
	return followed
}
