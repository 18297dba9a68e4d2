package flow

import (
	"slices"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inside"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/journal"
)

// container is what other nodes run inside of: a flow, a fork, or the handler of a batch of flows.
type container interface {
	// contents returns what identifies the container, and the nodes inside.
	contents() (id any, nodes []any)
	// draw draws the inside.
	draw(d *diagram)
	vouch() (first bool)
}

// transparent is a node of package node: a step, or a batch, which has a handler.
type transparent interface {
	Inside(k inside.Key) (policy guard.Policy, handler any, j journal.Journal)
}

// isBatch reports whether x is a batch of more than the one item of node.One.
func isBatch(x any) bool {
	h := handlerOf(x)
	_, one := h.(interface{ OneItem() })
	return h != nil && !one
}

// handlerOf returns the handler of a batch of package node; nil: x is none.
func handlerOf(x any) (h any) {
	if n, ok := x.(transparent); ok {
		_, h, _ = n.Inside(inside.Key{})
	}
	return h
}

// guardsIn lists the guards of x and of what is inside, each once, as far as
// they are wanted: those that the nodes are within as well.
func guardsIn(x any, wanted func(*guard.Guard) bool) (all []*guard.Guard) {
	seen := map[*guard.Guard]bool{nil: true}
	var add func(g *guard.Guard)
	add = func(g *guard.Guard) {
		if seen[g] {
			return
		}
		if seen[g] = true; wanted(g) {
			all = append(all, g)
		}
		for _, outer := range g.Policy().Within {
			add(outer)
		}
	}
	everything(x, map[any]bool{}, func(x any) bool {
		if n, ok := x.(interface{ Guard() *guard.Guard }); ok {
			add(guardOf(n))
		}
		return true
	})
	return all
}

// everything calls f with x and all nodes inside, also those in batches, but
// not with those inside a node for which f returns false.
func everything(x any, seen map[any]bool, f func(x any) bool) {
	if invalid.Nil(x) || !f(x) {
		return
	}
	c, ok := containerOf(x)
	if !ok {
		return
	}
	id, nodes := c.contents()
	if seen[id] {
		return
	}
	seen[id] = true
	for _, n := range nodes {
		everything(n, seen, f)
	}
}

func guardOf(n interface{ Guard() *guard.Guard }) *guard.Guard {
	defer func() { _ = recover() }() // it may be user code
	return n.Guard()
}

// all wants every guard.
func all(*guard.Guard) bool { return true }

// bounds reports whether g may hold calls back, which that of a node without
// settings does not do before the first 429.
func bounds(g *guard.Guard) bool {
	s := g.Stats()
	return s.Limits.Concurrency > 0 || len(s.Limits.Windows) > 0 || g.Learner() == g && s.View.Concurrency > 0
}

// containerOf returns x, or the handler of the batch x, as a container if it is one.
func containerOf(x any) (container, bool) {
	if invalid.Nil(x) {
		return nil, false
	}
	if n, ok := x.(transparent); ok {
		if _, h, _ := n.Inside(inside.Key{}); h != nil {
			x = h
		}
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
