package meter

import (
	"math"
	"time"
)

// Bucket is a token bucket in its virtual-scheduling form, known as the
// generic cell rate algorithm (ITU-T I.371): instead of a level it keeps the
// instant at which the bucket will be full again. Nothing is refilled step by
// step, so no rounding error builds up; and instants are added as whole
// nanoseconds, so that a bucket which takes years to fill still counts single
// units, and what wait returned is exactly when they fit.
type Bucket struct {
	perUnit float64 // nanoseconds that one unit takes to refill
	whole   int64   // the same, if it is a whole number
	few     int64   // so many units at most are charged as whole nanoseconds; 0: perUnit is none, or too many
	burst   int64
	guard   time.Duration
	full    Instant // when the bucket is full again; in the past: it is full
	frac    float64 // the part of full below a nanosecond, 0 <= frac < 1
	taken   Instant // when the last units were taken
	brim    Instant // units that were taken before cannot be given back: the bucket was full then
	lows    []low   // since brim, oldest first, missing ever more
}

func newBucket(w Window, guard time.Duration) *Bucket {
	m := &Bucket{perUnit: 1e9 / w.Rate, burst: w.Max, guard: guard, full: -guard, brim: -guard}
	if m.perUnit <= exact {
		if m.whole = int64(m.perUnit); float64(m.whole) == m.perUnit && m.whole > 0 {
			m.few = exact / m.whole
		}
	}
	return m
}

// exact is up to where each whole number is a float64.
const exact = 1 << 53

// missing is how many nanoseconds of refilling the bucket is away from full.
func (m *Bucket) missing(now Instant) float64 {
	if m.full < now {
		return 0
	}
	return float64(m.full-now) + m.frac
}

// Wait returns how long until n units fit, 0 for now.
func (m *Bucket) Wait(now Instant, n int64) time.Duration {
	if m.full+m.guard < now {
		return 0
	}
	return max(0, m.until(now, m.burst-n)+m.guard)
}

// until is how long after now no more than n units are missing; in the past it may be negative.
func (m *Bucket) until(now Instant, n int64) time.Duration {
	before := float64(n) * m.perUnit // so long before it is full
	whole := time.Duration(before)
	wait := m.full - whole - now
	if m.frac > before-float64(whole) {
		wait++
	}
	return wait
}

// Take charges n units at now, whether they fit or not.
func (m *Bucket) Take(now Instant, n int64) {
	if m.full < now {
		m.overflow(now)
	} else {
		m.note(now)
	}
	if n <= m.few && m.full <= now+LongestFill-exact {
		m.full += time.Duration(n * m.whole)
	} else {
		m.add(now, float64(n)*m.perUnit)
	}
	m.taken = now
}

// add makes the bucket miss ns more, or less if ns is negative. Before a take,
// note must be called: a full bucket begins to miss from now on.
func (m *Bucket) add(now Instant, ns float64) {
	const most = float64(LongestFill)
	if ns > most {
		ns = most
	} else if ns < -most {
		ns = -most
	}
	ns += m.frac
	whole := time.Duration(ns)
	m.full, m.frac = m.full+whole, ns-float64(whole)
	if m.frac < 0 {
		m.full, m.frac = m.full-1, m.frac+1
	}
	if m.full > now+LongestFill {
		m.full, m.frac = now+LongestFill, 0
	}
}

// Schedule returns how long a unit takes to refill and how long before the bucket is full a unit fits, for those that
// take single units elsewhere; false if these are not whole nanoseconds.
func (m *Bucket) Schedule() (perUnit, before time.Duration, ok bool) {
	if m.few == 0 || m.burst-1 > m.few {
		return 0, 0, false
	}
	return time.Duration(m.whole), time.Duration((m.burst-1)*m.whole) - m.guard, true
}

// FullAt returns when the bucket is full again, or an instant before now if it is; false if that is not a whole
// nanosecond.
func (m *Bucket) FullAt(now Instant) (full Instant, ok bool) {
	return m.full, m.frac == 0 || m.full < now
}

// Resume makes the bucket full at that instant, after single units were taken elsewhere. Units that were taken before
// must not be given back any more.
func (m *Bucket) Resume(full Instant) { m.full, m.frac = full, 0 }

func (m *Bucket) spent(now Instant) int64 {
	return int64(math.Ceil(m.missing(now) / m.perUnit))
}

func (m *Bucket) frees(now Instant) (first, all time.Duration) {
	spent := m.spent(now)
	if spent == 0 {
		return 0, 0
	}
	return max(1, m.until(now, spent-1)), m.until(now, 0)
}

// follow keeps the units that were left, up to the new burst; a debt stays a debt.
// A smaller burst misses less at once. giveBack takes a low at the instant of a
// take for one from before it, so a change at that instant would not count: then
// nothing can be given back any more.
func (m *Bucket) follow(now Instant, old meter) succession {
	from, ok := old.(*Bucket)
	if !ok {
		return unlike
	}
	from.note(now)
	scale := m.perUnit / from.perUnit
	m.brim, m.taken = from.brim, from.taken
	for _, l := range from.lows {
		m.lows = append(m.lows, low{l.at, l.missing * scale})
	}
	missing := float64(m.burst-from.burst)*m.perUnit + from.missing(now)*scale
	m.full = now
	m.add(now, missing)
	m.note(now)
	if missing < 0 || m.burst < from.burst && m.taken == now {
		return overflowed
	}
	return followed
}

// Owe makes the bucket miss as much more at now as it refills in d.
func (m *Bucket) Owe(now Instant, d time.Duration) {
	m.note(now)
	m.add(now, float64(d))
}
