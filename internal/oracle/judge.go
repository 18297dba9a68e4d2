package oracle

import (
	"math"
	"sort"
	"time"
)

// Judge judges a finished log by all of the rules, in O(n log n) for each. The
// verdict is the one that an [Auditor] comes to; the way is another. Where the
// Auditor keeps running sums, Judge looks every one of them up in the log.
func Judge(log []Entry, rules ...Rule) Verdict {
	a := newAuditor(rules, func(i int, r Rule) (meter, error) {
		if r.algorithm == fifo {
			return &lineMeter{}, nil
		}
		return newReplay(log, i, r)
	})
	for _, e := range log {
		a.Add(e)
	}
	return a.Verdict()
}

// replay is a rule with a log, of which the tree holds what came up to now.
type replay struct {
	log   []Entry
	rule  Rule
	fill  refill        // in parts that all rates of the log can be counted in
	last  time.Duration // the tree is up to date
	left  []int64       // what each entry still weighs
	tree  tree
	since time.Duration // sliding: nothing from then or before counts
	cal   calendar      // fixed
}

func newReplay(log []Entry, rule int, r Rule) (meter, error) {
	m := &replay{log: log, rule: r, left: make([]int64, len(log)), tree: newTree(len(log)), since: math.MinInt64}
	m.cal.end = math.MinInt64
	if len(log) > 0 {
		m.last = log[0].At
	}
	if r.algorithm != bucket {
		m.fill = refill{0, 1}
		return m, nil
	}
	d, ok := r.refill().d, true
	for _, e := range log {
		if ok && e.Kind == Resize && e.Of == rule && e.To != nil && e.To.algorithm == bucket && e.To.check() == nil {
			d, ok = lcm(d, e.To.refill().d)
		}
	}
	if ok {
		m.fill, ok = r.refill().rescaled(d)
	}
	if !ok {
		return nil, errNoMeasure
	}
	return m, nil
}

func (m *replay) step(i int, e *Entry) (finding, error) {
	m.arrive(i, e.At, wide{})
	n := m.weight(e)
	if n == 0 {
		return finding{}, nil
	}
	switch e.Kind {
	case Admission, Debit:
		m.left[i] = n
		m.weigh(i)
		if e.Kind == Admission {
			return m.read(e.At), nil
		}
	case GiveBack, End:
		switch {
		case m.left[e.Of] >= n:
		case e.Kind == End:
			return finding{}, errNotInFlight
		default:
			return finding{}, errTooMuch
		}
		m.left[e.Of] -= n
		m.weigh(e.Of)
	case Resize:
	}
	return finding{}, nil
}

// weight is what the entry adds or takes away; a call in flight weighs 1.
func (m *replay) weight(e *Entry) int64 {
	switch {
	case m.rule.algorithm != concurrency && e.Kind != End:
		return e.Weights[m.rule.unit]
	case m.rule.algorithm == concurrency && (e.Kind == Admission || e.Kind == End):
		return 1
	}
	return 0
}

// arrive puts the entry i, and what came in before it, into the tree.
func (m *replay) arrive(i int, at time.Duration, weight wide) {
	m.tree.set(i, node{weight.minus(m.fill.in(at - m.last)), weight})
	m.last = at
}

// weigh sets the entry's weight to what is left of it.
func (m *replay) weigh(i int) {
	n, weight := m.tree.leaf(i), m.fill.units(m.left[i])
	m.tree.set(i, node{n.sum.minus(n.best).plus(weight), weight})
}

func (m *replay) read(at time.Duration) finding {
	from, observed := 0, m.tree[1].best
	switch m.rule.algorithm {
	case sliding:
		before := max(m.since, at-(m.rule.per-m.rule.slack))
		from = sort.Search(len(m.log), func(k int) bool { return m.log[k].At > before })
	case fixed:
		m.cal.roll(m.rule, at)
		if at < m.cal.from {
			return finding{}
		}
		from = sort.Search(len(m.log), func(k int) bool { return m.log[k].At >= m.cal.from })
	default:
	}
	if m.rule.algorithm != bucket {
		observed = m.tree.sumFrom(from)
	}
	allowed := m.fill.units(m.rule.max).plus(m.fill.in(m.rule.slack))
	d := float64(m.fill.d)
	return finding{observed.float() / d, allowed.float() / d, true, allowed.less(observed)}
}

func (m *replay) resize(i int, at time.Duration, to Rule) error {
	added := wide{}
	switch m.rule.algorithm {
	case sliding:
		m.since = max(m.since, at-(m.rule.per-m.rule.slack))
	case fixed:
		m.cal.roll(m.rule, at)
		_, m.cal.end = to.period(at)
	case bucket:
		added = m.fill.units(to.max).minus(m.fill.units(m.rule.max))
	default:
	}
	m.arrive(i, at, added)
	m.rule = to
	if to.algorithm != bucket {
		return nil
	}
	fill, ok := to.refill().rescaled(m.fill.d)
	if !ok {
		return errNoMeasure
	}
	m.fill = fill
	return nil
}
