package meter

import (
	"math"
	"slices"
)

// low notes how much the bucket was missing just before a take.
type low struct {
	at      Instant
	missing float64 // nanoseconds
}

// maxLows bounds what a bucket remembers. With fewer, less of what is given
// back counts; never more.
const maxLows = 16

// note remembers how much is missing before a take. It makes older lows that
// missed as much or more superfluous, and all of them if nothing is missing.
func (m *Bucket) note(now Instant) {
	if m.full < now {
		m.overflow(now)
		return
	}
	if m.lows == nil {
		m.lows = make([]low, 0, maxLows)
	}
	l := low{now, m.missing(now)}
	for len(m.lows) > 0 && m.lows[len(m.lows)-1].missing >= l.missing {
		m.lows = m.lows[:len(m.lows)-1]
	}
	if len(m.lows) == maxLows {
		m.mergeLows()
	}
	m.lows = append(m.lows, l)
}

// overflow makes a bucket that has been full for a while miss nothing as of now.
func (m *Bucket) overflow(now Instant) {
	m.brim, m.lows = max(m.brim, now), m.lows[:0]
	m.full, m.frac = now, 0
}

// mergeLows replaces the two lows that differ least by one, which misses as
// little as the lower and lasts as long as the later. They are compared by
// ratio, because a low above what a call took does not matter.
func (m *Bucket) mergeLows() {
	best, least := 0, math.Inf(1)
	for i := range len(m.lows) - 1 {
		if ratio := m.lows[i+1].missing / m.lows[i].missing; ratio < least {
			best, least = i, ratio
		}
	}
	m.lows[best].at = m.lows[best+1].at
	m.lows = slices.Delete(m.lows, best+1, best+2)
}

// giveBack leaves the bucket as if the units had not been taken at that
// instant. If it missed less than these at any time since, it would have
// overflowed, and what overflows is lost. Takes at one instant only raise what
// is missing, so their order does not matter.
func (m *Bucket) giveBack(now, at Instant, n int64) {
	if at < m.brim {
		return
	}
	ns := float64(n) * m.perUnit
	i := 0
	for i < len(m.lows) && m.lows[i].at <= at {
		i++
	}
	if i < len(m.lows) {
		ns = min(ns, m.lows[i].missing)
		for j := i; j < len(m.lows); j++ {
			m.lows[j].missing -= ns
		}
		for i > 0 && m.lows[i-1].missing >= m.lows[i].missing {
			m.lows = slices.Delete(m.lows, i-1, i)
			i--
		}
	}
	m.add(now, -ns)
}
