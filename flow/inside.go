package flow

import (
	"slices"

	"github.com/headrace/headrace/internal/invalid"
)

// container is what other nodes run inside of: a flow, a fork, or the handler of a batch of flows.
type container interface {
	// contents returns what identifies the container, and the nodes inside.
	contents() (id any, nodes []any)
	// draw draws the inside.
	draw(d *diagram)
}

// isBatch reports whether x, which is not nil, is a batch of more than the one item of node.One.
func isBatch(x any) bool {
	b, ok := x.(interface{ Handler() any })
	if !ok {
		return false
	}
	_, one := b.Handler().(interface{ OneItem() })
	return !one
}

// containerOf returns x, or the handler of the batch x, as a container if it is one.
func containerOf(x any) (container, bool) {
	if invalid.Nil(x) {
		return nil, false
	}
	if b, ok := x.(interface{ Handler() any }); ok {
		x = b.Handler()
	}
	c, ok := x.(container)
	return c, ok
}

// visit calls f with x and the nodes inside, each container once: a flow may
// contain itself. It does not go into a batch, which answers for its inside,
// except one that is inside itself and does not.
func visit(x any, seen map[any]bool, f func(x any)) {
	if invalid.Nil(x) {
		return
	}
	c, ok := containerOf(x)
	if !ok {
		f(x)
		return
	}
	id, nodes := c.contents()
	if seen[id] {
		return
	}
	seen[id] = true
	f(x)
	if isFlow := id == x; isFlow || recursive(c) {
		for _, n := range nodes {
			visit(n, seen, f)
		}
	}
}

// recursive reports whether c is inside itself.
func recursive(c container) bool {
	id, nodes := c.contents()
	seen := map[any]bool{}
	var leads func(x any) bool
	leads = func(x any) bool {
		c, ok := containerOf(x)
		if !ok {
			return false
		}
		at, nodes := c.contents()
		if at == id {
			return true
		}
		if seen[at] {
			return false
		}
		seen[at] = true
		return slices.ContainsFunc(nodes, leads)
	}
	return slices.ContainsFunc(nodes, leads)
}
