package picture

import (
	"cmp"
	"math"
	"slices"
)

// label is a text at a position in the plot.
type label struct {
	x, y  float64 // position of the left end of its line
	class string
	text  string
}

const (
	letter = 7.3 // the width of a letter that is bold, or more
	tall   = 13.0
	apart  = 14.0
)

func (l *label) width() float64 { return letter * float64(len(l.text)) }

// meets reports whether two labels are too close to each other.
func (l *label) meets(o *label) bool {
	return l.x < o.x+o.width()+apart && o.x < l.x+l.width()+apart && l.y < o.y+tall && o.y < l.y+tall
}

// labels returns the labels of the chart. They do not cover what they describe.
func (c *chart) labels() (all []label) {
	add := func(tries ...label) bool {
		for _, l := range tries {
			l.x = max(left+2, min(right-l.width(), l.x))
			if l.y < c.y.To+tall || l.y > c.y.From {
				continue
			}
			free := true
			for i := range all {
				free = free && !l.meets(&all[i])
			}
			if free {
				all = append(all, l)
				return true
			}
		}
		return false
	}
	add(c.refused()...)
	add(c.full()...)
	first := true
	for _, p := range c.limits {
		if p.Rate == 0 {
			continue
		}
		from, to := c.x.Place(p.From), c.x.Place(p.To)
		l := label{class: "l k-limit", text: p.Limit}
		named := label{class: l.class, text: "hidden limit: " + l.text}
		if first && add(c.over(named, from, to)...) {
			first = false
		} else {
			add(c.over(l, from, to)...)
		}
	}
	const answers = "answers"
	for _, b := range c.bars {
		l := label{x: c.x.Place(b.from) + 6, y: c.y.From - 9, class: "k-answer", text: answers}
		if to := l.x + l.width(); to < right && c.lowest(l.x, to) < l.y-tall-4 {
			add(l)
			break
		}
	}
	return all
}

// over yields positions for l above everything drawn there: those closest to its line first, and among these the one
// closest to the middle.
func (c *chart) over(l label, from, to float64) (all []label) {
	middle := (from + to - l.width()) / 2
	for x := min(middle, from+6); x <= max(middle, to-6-l.width()); x += 6 {
		l.x = max(left+2, min(right-l.width(), x))
		l.y = c.highest(l.x-2, l.x+l.width()+2) - 8
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b label) int {
		return cmp.Or(cmp.Compare(b.y, a.y), cmp.Compare(math.Abs(a.x-middle), math.Abs(b.x-middle)))
	})
	return all
}

// refused yields positions for the number of rejected calls, beside the bars with most of them.
func (c *chart) refused() []label {
	var most, now []bar // adjacent bars count as one
	sum := func(all []bar) (n int) {
		for _, b := range all {
			n += b.refused
		}
		return n
	}
	for i, b := range c.bars {
		if now = append(now, b); b.refused == 0 {
			now = nil
		}
		if sum(now) > sum(most) {
			most = c.bars[i+1-len(now) : i+1]
		}
	}
	if len(most) == 0 {
		return nil
	}
	from, to := c.x.Place(most[0].from), c.x.Place(most[len(most)-1].to)
	worst := slices.MaxFunc(most, func(a, b bar) int { return cmp.Compare(a.refused, b.refused) })
	l := label{class: "l k-refusal", text: number(float64(sum(most))) + " refused (429)"}
	l.x = c.x.Place(worst.to) + 5
	l.y = max(c.y.To+tall, c.y.Place(worst.answers+worst.refusals)+8)
	behind, before := l, l
	behind.x, before.x = to+5, from-5-l.width()
	all := append(c.over(l, from, to), behind, before)
	if c.highest(l.x, l.x+l.width()) >= l.y {
		all = slices.Insert(all, 0, l)
	}
	return all
}

// full explains why the first bar is above the limit.
func (c *chart) full() []label {
	if len(c.bars) == 0 || len(c.limits) == 0 || c.limits[0].Rate == 0 || c.bars[0].answers < 1.2*c.limits[0].Rate {
		return nil
	}
	l := label{x: c.x.Place(c.bars[0].to) + 5, y: c.y.Place(c.bars[0].answers) + 11, class: "l k-full", text: "a full bucket at first"}
	lower := l
	lower.y += tall + 3
	return []label{l, lower}
}
