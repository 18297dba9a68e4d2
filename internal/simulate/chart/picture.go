package chart

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
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
	out strings.Builder
	x   scale   // of minutes
	y   float64 // how far down it has come
}

func (p *pen) addf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

// SVG writes f as a picture.
func (f *Film) SVG(w io.Writer) error {
	all := f.panels()
	height := head + foot
	for _, p := range all {
		height += above + p.height
	}
	p := &pen{y: head, x: scale{least: 0, most: max(1, f.length().Minutes()), from: left, to: right}}
	p.addf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img">`+"\n",
		width, height, width, height)
	p.addf("<title>%s</title>\n<style>%s</style>\n", escaped(f.Title+": "+f.About), style)
	p.addf(`<text x="%g" y="20" class="h">%s</text><text x="%g" y="38">%s</text>`+"\n",
		left, escaped(f.Title), left, escaped(f.About))
	for i := range all {
		p.panel(&all[i])
	}
	p.minutes()
	p.addf("</svg>\n")
	_, err := io.WriteString(w, p.out.String())
	return err
}

// panel draws p below what is there and moves on.
func (p *pen) panel(a *panel) {
	p.legend(a)
	p.y += above
	if a.height == 0 {
		return
	}
	y := scale{least: 0, most: a.top, from: p.y + a.height, to: p.y, log: a.log}
	if a.log {
		y.least = least
	}
	var grid strings.Builder
	for _, v := range y.marks() {
		at := y.place(v)
		fmt.Fprintf(&grid, "M%s %sH%s", short(left), short(at), short(right))
		p.addf(`<text x="%g" y="%s" class="r">%g</text>`, left-6, short(at+textHeight), v)
	}
	for _, minute := range p.x.marks() {
		fmt.Fprintf(&grid, "M%s %sV%s", short(p.x.place(minute)), short(y.from), short(y.to))
	}
	p.addf("\n"+`<path class="grid" d="%s"/>`+"\n", grid.String())
	for i := range a.lines {
		p.addf(`<path class="%s" d="%s"/>`+"\n", a.lines[i].class, p.path(&a.lines[i], &y))
	}
	p.y += a.height
}

// legend writes the title of a panel and, each in its colour, the names of its lines.
func (p *pen) legend(a *panel) {
	p.addf(`<text x="%g" y="%g"><tspan class="b">%s</tspan>`, left, p.y+above-8, escaped(a.title))
	for i := range a.lines {
		if l := &a.lines[i]; l.label != "" {
			mark := "━"
			switch {
			case l.class == "limit":
				mark = "╍"
			case l.bars:
				mark = "|"
			}
			p.addf(`<tspan dx="14" class="k-%s">%s %s</tspan>`, l.class, mark, escaped(l.label))
		}
	}
	p.addf("</text>\n")
}

// path is the path of l in a panel whose values are scaled by y.
func (p *pen) path(l *line, y *scale) string {
	var d strings.Builder
	if l.bars {
		for _, v := range l.points {
			if v.y > 0 {
				fmt.Fprintf(&d, "M%s %sV%s", short(p.x.place(v.x/60)), short(y.from), short(y.place(v.y)))
			}
		}
		return d.String()
	}
	for _, piece := range pieces(l.points) {
		places := make([]point, len(piece))
		for i, v := range piece {
			places[i] = point{p.x.place(v.x / 60), y.place(v.y)}
		}
		to := "M"
		for _, at := range thin(places, sharpness) {
			fmt.Fprintf(&d, "%s%s %s", to, short(at.x), short(at.y))
			to = "L"
		}
	}
	return d.String()
}

// minutes labels the axis that all panels share.
func (p *pen) minutes() {
	for _, minute := range p.x.marks() {
		p.addf(`<text x="%s" y="%g" class="m">%g</text>`, short(p.x.place(minute)), p.y+16, minute)
	}
	p.addf("\n"+`<text x="%g" y="%g" class="m">minutes; the first two are the warm-up, and changes are counted from its end</text>`+"\n", (left+right)/2, p.y+32)
}

// short is x to a tenth.
func short(x float64) string {
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}

func escaped(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return ""
	}
	return b.String()
}
