package flow

import (
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/node"
)

// Mermaid draws n as a Mermaid flowchart, with boxes for what is inside flows, batches of flows and
// Forks. A flow inside itself is drawn as one node with a double frame. The same node always gives the
// same text. Nil options are ignored.
func Mermaid[S any](n node.Node[S], opts ...DrawOption) string {
	d := &diagram{indent: 1, open: map[any]bool{}}
	invalid.Options(nil, opts, d)
	d.node(n)
	return "flowchart TD\n" + d.text.String()
}

// diagram is a drawing in progress.
type diagram struct {
	text   strings.Builder
	indent int
	ids    int
	open   map[any]bool // the containers that are being drawn: one may contain itself

	limits bool    // show them
	counts *Report // show those; nil shows none
}

func (d *diagram) linef(format string, args ...any) {
	d.text.WriteString(strings.Repeat("    ", d.indent))
	fmt.Fprintf(&d.text, format, args...)
	d.text.WriteByte('\n')
}

func (d *diagram) id() string {
	d.ids++
	return fmt.Sprintf("n%d", d.ids)
}

// node draws x and returns its id.
func (d *diagram) node(x any) string {
	id, name := d.id(), "nil"
	if invalid.Nil(x) {
		d.linef("%s[%s]", id, label(name))
		return id
	}
	if n, ok := x.(interface{ Name() string }); ok {
		name = n.Name()
	}
	if isBatch(x) {
		name += " (batch)"
	}
	c, ok := containerOf(x)
	if !ok {
		d.linef("%s[%s]", id, d.details(name, x))
		return id
	}
	self, _ := c.contents()
	if d.open[self] {
		d.linef("%s[[%s]]", id, label(name))
		return id
	}
	d.open[self] = true
	defer delete(d.open, self)
	d.linef("subgraph %s[%s]", id, d.details(name, x))
	d.indent++
	c.draw(d)
	d.indent--
	d.linef("end")
	return id
}

// draw implements container.
func (f *Flow[S]) draw(d *diagram) {
	ids := map[node.Node[S]]string{}
	for _, n := range f.nodes() {
		ids[n] = d.node(n)
	}
	end := ""
	for _, e := range f.edges {
		from, ok := ids[e.from]
		if !ok {
			continue
		}
		to := ids[e.to]
		if e.to == nil {
			if end == "" {
				end = d.id()
				d.linef("%s((%s))", end, label("end"))
			}
			to = end
		}
		if e.action == node.Next {
			d.linef("%s --> %s", from, to)
		} else {
			d.linef("%s -->|%s| %s", from, label(string(e.action)), to)
		}
	}
}
