package chart

import (
	"fmt"
	"io"
	"strings"

	"github.com/headrace/headrace/internal/svg"
)

// The sizes of a picture, in its own units, which are pixels at full size.
const (
	width      = 860.0
	left       = 48.0  // of the panels
	right      = 848.0 // of the panels
	head       = 50.0  // above the first panel
	above      = 34.0  // of each panel: its title
	foot       = 40.0  // below the last panel
	textHeight = 4.0   // from the middle of a line of digits to its bottom
	sharpness  = 0.4   // how far a line may be from what it stands for
)

// style holds colours that can be read on white and on near black alike.
const style = `text{font:12px sans-serif;fill:#768390}
.h{font-size:15px;font-weight:bold}.b{font-weight:bold}.r{text-anchor:end}.m{text-anchor:middle}
path{fill:none;stroke-width:1.3;stroke-linejoin:round}
.grid{stroke:#768390;stroke-width:1;opacity:.3}
.limit{stroke:#bb771e;stroke-width:1.6;stroke-dasharray:6 4}.admitted,.flight{stroke:#3d87dd}
.pace{stroke:#2f9a57}.window{stroke:#9a70dc;stroke-width:3.5;opacity:.6}.refused{stroke:#e0524c;stroke-width:1.2}
.k-limit{fill:#bb771e}.k-admitted,.k-flight{fill:#3d87dd}.k-pace{fill:#2f9a57}.k-window{fill:#9a70dc}.k-refused{fill:#e0524c}
`

// pen writes the elements of one picture.
type pen struct {
	svg.Pen

	x svg.Scale // of minutes
	y float64   // how far down it has come
}

// SVG writes f as a picture.
func (f *Film) SVG(w io.Writer) error {
	all := f.panels()
	height := head + foot
	for _, p := range all {
		height += above + p.height
	}
	p := &pen{y: head, x: svg.Scale{Most: max(1, f.length().Minutes()), From: left, To: right}}
	p.Addf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img">`+"\n",
		width, height, width, height)
	p.Addf("<title>%s</title>\n<style>%s</style>\n", svg.Escape(f.Title+": "+f.About), style)
	p.Addf(`<text x="%g" y="20" class="h">%s</text><text x="%g" y="38">%s</text>`+"\n",
		left, svg.Escape(f.Title), left, svg.Escape(f.About))
	for i := range all {
		p.panel(&all[i])
	}
	p.minutes()
	p.Addf("</svg>\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// panel draws p below what is there and moves on.
func (p *pen) panel(a *panel) {
	p.legend(a)
	p.y += above
	if a.height == 0 {
		return
	}
	y := svg.Scale{Most: a.top, From: p.y + a.height, To: p.y, Log: a.log}
	if a.log {
		y.Least = least
	}
	var grid strings.Builder
	for _, v := range y.Marks() {
		at := y.Place(v)
		fmt.Fprintf(&grid, "M%s %sH%s", svg.Short(left), svg.Short(at), svg.Short(right))
		p.Addf(`<text x="%g" y="%s" class="r">%g</text>`, left-6, svg.Short(at+textHeight), v)
	}
	for _, minute := range p.x.Marks() {
		fmt.Fprintf(&grid, "M%s %sV%s", svg.Short(p.x.Place(minute)), svg.Short(y.From), svg.Short(y.To))
	}
	p.Addf("\n"+`<path class="grid" d="%s"/>`+"\n", grid.String())
	for i := range a.lines {
		p.Addf(`<path class="%s" d="%s"/>`+"\n", a.lines[i].class, p.path(&a.lines[i], &y))
	}
	p.y += a.height
}

// legend writes the title of a panel and, each in its colour, the names of its lines.
func (p *pen) legend(a *panel) {
	p.Addf(`<text x="%g" y="%g"><tspan class="b">%s</tspan>`, left, p.y+above-8, svg.Escape(a.title))
	for i := range a.lines {
		if l := &a.lines[i]; l.label != "" {
			mark := "━"
			switch {
			case l.class == "limit":
				mark = "╍"
			case l.bars:
				mark = "|"
			}
			p.Addf(`<tspan dx="14" class="k-%s">%s %s</tspan>`, l.class, mark, svg.Escape(l.label))
		}
	}
	p.Addf("</text>\n")
}

// path is the path of l in a panel with values scaled by y.
func (p *pen) path(l *line, y *svg.Scale) string {
	var d strings.Builder
	if l.bars {
		for _, v := range l.points {
			if v.Y > 0 {
				fmt.Fprintf(&d, "M%s %sV%s", svg.Short(p.x.Place(v.X/60)), svg.Short(y.From), svg.Short(y.Place(v.Y)))
			}
		}
		return d.String()
	}
	for _, piece := range svg.Pieces(l.points) {
		places := make([]svg.Point, len(piece))
		for i, v := range piece {
			places[i] = svg.Point{X: p.x.Place(v.X / 60), Y: y.Place(v.Y)}
		}
		to := "M"
		for _, at := range svg.Thin(places, sharpness) {
			fmt.Fprintf(&d, "%s%s %s", to, svg.Short(at.X), svg.Short(at.Y))
			to = "L"
		}
	}
	return d.String()
}

// minutes labels the axis that all panels share.
func (p *pen) minutes() {
	for _, minute := range p.x.Marks() {
		p.Addf(`<text x="%s" y="%g" class="m">%g</text>`, svg.Short(p.x.Place(minute)), p.y+16, minute)
	}
	p.Addf("\n"+`<text x="%g" y="%g" class="m">minutes; the first two are the warm-up, and changes are counted from its end</text>`+"\n", (left+right)/2, p.y+32)
}
