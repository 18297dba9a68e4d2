package picture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
	"github.com/headrace/headrace/internal/svg"
)

// chart is the plot: bars of answers, rejected calls on top of them, and the limit as a line.
type chart struct {
	bars   []bar
	limits []provider.Phase
	x, y   svg.Scale // seconds, calls per second
}

// chart lays out the plot below top.
func (r *Run) chart(top float64) *chart {
	l := &r.Ledger
	c := &chart{bars: bars(l), limits: l.Limits}
	limit, all := 0.0, 0.0
	for _, p := range l.Limits {
		limit = max(limit, p.Rate)
	}
	most, end := limit, max(least, l.Seconds)
	for _, b := range c.bars {
		most, all, end = max(most, b.answers), max(all, b.answers+b.refusals), max(end, b.to)
	}
	if limit == 0 {
		most = all
	}
	// The label of the limit needs space above it. Bars of rejected calls that are much higher than the rest are cut off, and get a number.
	most = max(1, 1.17*limit, 1.05*most, min(1.05*all, 1.4*most))
	c.x = svg.Scale{Most: end, From: left, To: right}
	c.y = svg.Scale{Most: most, From: top + plot, To: top}
	return c
}

// chart draws c.
func (p *pen) chart(c *chart) {
	var grid strings.Builder
	for _, v := range c.y.Marks() {
		at := c.y.Place(v)
		if v > 0 {
			fmt.Fprintf(&grid, "M%g %sH%g", left, svg.Short(at), right)
		}
		p.Addf(`<text x="%g" y="%s" class="r">%s</text>`, left-8, svg.Short(at+4), tick(v))
	}
	p.Addf("\n"+`<path class="grid" d="%s"/>`+"\n", grid.String())
	var answers, refusals strings.Builder
	for _, b := range c.bars {
		from, to := c.x.Place(b.from)+0.5, c.x.Place(b.to)-0.5
		if to < from {
			to = from
		}
		foot, top := c.y.Place(0), c.y.Place(b.answers)
		if b.answers > 0 {
			fmt.Fprintf(&answers, "M%s %sV%sH%sV%sZ", svg.Short(from), svg.Short(foot), svg.Short(top), svg.Short(to), svg.Short(foot))
		}
		if b.refusals > 0 {
			end := min(c.y.Place(b.answers+b.refusals), top-3) // a single call is visible too
			fmt.Fprintf(&refusals, "M%s %sV%sH%sV%sZ", svg.Short(from), svg.Short(top), svg.Short(end), svg.Short(to), svg.Short(top))
		}
	}
	p.Addf(`<path class="answer" d="%s"/>`+"\n"+`<path class="refusal" d="%s"/>`+"\n", answers.String(), refusals.String())
	line := c.limit()
	p.Addf(`<path class="edge" d="%s"/><path class="limit" d="%s"/>`+"\n", line, line)
	foot := c.y.Place(0)
	p.Addf(`<path class="axis" d="M%g %sH%g"/>`+"\n", left, svg.Short(foot), right)
	for _, v := range c.x.Marks() {
		p.Addf(`<text x="%s" y="%s" class="m">%s</text>`, svg.Short(c.x.Place(v)), svg.Short(foot+18), tick(v))
	}
	middle := svg.Short((c.y.From + c.y.To) / 2)
	p.Addf("\n"+`<text x="%g" y="%s" class="m">seconds</text><text x="30" y="%s" class="m" transform="rotate(-90 30 %s)">calls per second</text>`+"\n",
		(left+right)/2, svg.Short(foot+36), middle, middle)
	for _, l := range c.labels() {
		p.Addf(`<text x="%s" y="%s" class="%s">%s</text>`+"\n", svg.Short(l.x), svg.Short(l.y), l.class, svg.Escape(l.text))
	}
}

// limit returns the path of the limit. It has a gap where there is no limit.
func (c *chart) limit() string {
	var d strings.Builder
	to := "M"
	for _, p := range c.limits {
		if p.Rate == 0 {
			to = "M"
			continue
		}
		y := svg.Short(c.y.Place(p.Rate))
		if to == "M" {
			fmt.Fprintf(&d, "M%s %s", svg.Short(c.x.Place(p.From)), y)
		} else {
			fmt.Fprintf(&d, "V%s", y)
		}
		fmt.Fprintf(&d, "H%s", svg.Short(c.x.Place(p.To)))
		to = "L"
	}
	return d.String()
}

// look marks the time of the display that is drawn above.
func (p *pen) look(c *chart, at, from float64) {
	x := c.x.Place(at)
	p.Addf(`<path class="look" d="M%s %sV%s"/>`+"\n", svg.Short(x), svg.Short(from), svg.Short(c.y.From))
	class, by := "", 6.0
	if x > (left+right)/2 {
		class, by = ` class="r"`, -6.0
	}
	p.Addf(`<text x="%s" y="%s"%s>the display at %.1f s</text>`+"\n", svg.Short(x+by), svg.Short(from+16), class, at)
}

// highest returns the top of everything drawn between two positions: bars with rejected calls, and the limit.
func (c *chart) highest(from, to float64) (y float64) {
	y = c.y.From
	for _, b := range c.bars {
		if c.x.Place(b.from) < to && c.x.Place(b.to) > from {
			y = min(y, c.y.Place(b.answers+b.refusals))
		}
	}
	for _, p := range c.limits {
		if c.x.Place(p.From) < to && c.x.Place(p.To) > from {
			y = min(y, c.y.Place(p.Rate))
		}
	}
	return y
}

// lowest returns the top of the lowest bar between two positions.
func (c *chart) lowest(from, to float64) (y float64) {
	y = c.y.From
	if i := slices.IndexFunc(c.bars, func(b bar) bool { return c.x.Place(b.from) < to && c.x.Place(b.to) > from }); i >= 0 {
		y = c.y.To
		for _, b := range c.bars[i:] {
			if c.x.Place(b.from) < to {
				y = max(y, c.y.Place(b.answers))
			}
		}
	}
	return y
}
