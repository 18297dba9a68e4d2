package flow

import "github.com/headrace/headrace/internal/invalid"

// outline is what the graph tells of the nodes that events name.
type outline struct {
	names []string // as drawn
	nodes map[string]placed
	batch bool // one of them is a batch outside of any other
}

type placed struct {
	order int
	outer bool // it is not inside a batch, or not only
	batch bool
}

// outlined looks through x and all that is inside.
func outlined(x any) *outline {
	o := &outline{nodes: map[string]placed{}}
	o.add(x, true, map[visited]bool{})
	return o
}

type visited struct {
	container any
	outer     bool
}

func (o *outline) add(x any, outer bool, seen map[visited]bool) {
	if invalid.Nil(x) {
		return
	}
	batch := isBatch(x)
	c, isContainer := containerOf(x)
	if n, ok := x.(interface{ Name() string }); ok && (batch || !isContainer) {
		o.place(n.Name(), outer, batch)
	}
	if !isContainer {
		return
	}
	id, inside := c.contents()
	if at := (visited{id, outer}); !seen[at] {
		seen[at] = true
		for _, n := range inside {
			o.add(n, outer && !batch, seen)
		}
	}
}

func (o *outline) place(name string, outer, batch bool) {
	p, known := o.nodes[name]
	if !known {
		p.order = len(o.names)
		o.names = append(o.names, name)
	}
	p.outer, p.batch = p.outer || outer, p.batch || batch
	o.nodes[name] = p
	o.batch = o.batch || outer && batch
}

// counts reports whether the items of a node are items of the run as a whole. A
// node that the graph does not show runs inside another one: its items count
// if there are no others.
func (o *outline) counts(name string) bool {
	p, known := o.nodes[name]
	return p.outer || !known && !o.batch
}
