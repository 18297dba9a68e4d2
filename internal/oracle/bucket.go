package oracle

import (
	"slices"
	"sort"
	"time"
)

// bucketMeter follows what was taken less what could have come in. The bucket's
// level is how far that stands above its lowest point so far, because from no
// entry on may more be taken than the burst and what came in since; an entry's
// point is the one just before it.
type bucketMeter struct {
	rule  Rule
	fill  refill
	last  time.Duration
	total wide // taken less come in, in parts
	lows  []low
}

// low is an entry's point, if none after it is as low: the points that can
// become the lowest when earlier entries are lowered.
type low struct {
	entry int
	total wide
}

func newBucketMeter(r Rule) *bucketMeter { return &bucketMeter{rule: r, fill: r.refill()} }

// point brings the total up to date and notes it as the entry's.
func (m *bucketMeter) point(i int, at time.Duration) {
	if len(m.lows) > 0 {
		m.total = m.total.minus(m.fill.in(at - m.last))
	}
	m.last = at
	for len(m.lows) > 0 && !m.lows[len(m.lows)-1].total.less(m.total) {
		m.lows = m.lows[:len(m.lows)-1]
	}
	m.lows = append(m.lows, low{i, m.total})
}

func (m *bucketMeter) step(i int, e *Entry) (f finding, err error) {
	n := e.Weights[m.rule.unit]
	if n == 0 {
		return f, nil
	}
	switch e.Kind {
	case Admission, Debit:
		m.point(i, e.At)
		m.total = m.total.plus(m.fill.units(n))
		if e.Kind == Admission {
			f = m.read()
		}
	case GiveBack:
		m.giveBack(e.Of, m.fill.units(n))
	case End, Resize:
	}
	return f, nil
}

func (m *bucketMeter) read() finding {
	level := m.total.minus(m.lows[0].total)
	allowed := m.fill.units(m.rule.max).plus(m.fill.in(m.rule.slack))
	d := float64(m.fill.d)
	return finding{level.float() / d, allowed.float() / d, true, allowed.less(level)}
}

// giveBack lowers every point after the entry, and drops those before it that
// are no longer lower than the lowest of these.
func (m *bucketMeter) giveBack(entry int, parts wide) {
	m.total = m.total.minus(parts)
	after := sort.Search(len(m.lows), func(k int) bool { return m.lows[k].entry > entry })
	for k := after; k < len(m.lows); k++ {
		m.lows[k].total = m.lows[k].total.minus(parts)
	}
	if after == len(m.lows) {
		return
	}
	keep := after
	for keep > 0 && !m.lows[keep-1].total.less(m.lows[after].total) {
		keep--
	}
	m.lows = slices.Delete(m.lows, keep, after)
}

// resize keeps the units that are left: of a larger burst more are missing, of
// a smaller one fewer.
func (m *bucketMeter) resize(i int, at time.Duration, to Rule) error {
	m.point(i, at)
	fill := to.refill()
	d, fits := lcm(m.fill.d, fill.d)
	if fits {
		fill, fits = fill.rescaled(d)
	}
	base, k := m.lows[0].total, d/m.fill.d
	scale := func(w *wide) {
		if fits {
			*w, fits = w.minus(base).times(k)
		}
	}
	scale(&m.total)
	for j := range m.lows {
		scale(&m.lows[j].total)
	}
	if !fits {
		return errNoMeasure
	}
	m.total = m.total.plus(fill.units(to.max)).minus(fill.units(m.rule.max))
	m.rule, m.fill = to, fill
	return nil
}
