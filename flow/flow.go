package flow

import (
	"reflect"
	"strconv"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/node"
)

// Flow is a graph of nodes over the shared state S. It is a node.Node, so flows nest. The first run
// freezes it; after that it is safe for concurrent runs if its nodes are.
//
// Nodes are compared with ==: give each place in the graph a node of its own.
type Flow[S any] struct {
	vouched

	setup    invalid.Setup
	name     string
	first    node.Node[S]
	cursor   node.Node[S] // where Then goes on
	edges    []edge[S]
	out      map[node.Node[S]][]edge[S] // the edges, by from
	maxSteps int
}

// edge leads from a node to another, or to the end of the flow.
type edge[S any] struct {
	from   node.Node[S]
	action node.Action
	to     node.Node[S] // nil: the end
}

// defaultMaxSteps is high enough for any loop that is meant, and low enough to
// notice one that is not.
const defaultMaxSteps = 10_000

// New returns a flow that begins with first.
func New[S any](name string, first node.Node[S]) *Flow[S] {
	f := &Flow[S]{name: name, maxSteps: defaultMaxSteps}
	f.setup.Init("flow " + strconv.Quote(name))
	if name == "" {
		f.setup.Addf("name", "it is empty: errors, events and drawings need one")
	}
	if f.usable("first", first) {
		f.first, f.cursor = first, first
	}
	return f
}

// Name returns the flow's name.
func (f *Flow[S]) Name() string { return f.name }

// Then makes n follow the node of New, or of the last Then, on node.Next.
func (f *Flow[S]) Then(n node.Node[S]) *Flow[S] {
	f.setup.Change("Then", func() {
		if f.usable("Then", n) && f.cursor != nil {
			f.connect("Then", edge[S]{f.cursor, node.Next, n})
			f.cursor = n
		}
	})
	return f
}

// On adds an edge: to follows from on action a. It does not change where Then continues. A node with
// edges fails with an *ActionError if it returns another action.
func (f *Flow[S]) On(from node.Node[S], a node.Action, to node.Node[S]) *Flow[S] {
	f.setup.Change("On", func() {
		if f.usable("On: from", from) && f.usable("On: to", to) {
			f.connect("On", edge[S]{from, a, to})
		}
	})
	return f
}

// End ends the flow after from on action a. A node without edges ends it on any action.
func (f *Flow[S]) End(from node.Node[S], a node.Action) *Flow[S] {
	f.setup.Change("End", func() {
		if f.usable("End", from) {
			f.connect("End", edge[S]{from: from, action: a})
		}
	})
	return f
}

// WithMaxSteps bounds how many nodes one run goes through; then it fails with a *StepsError. The
// default is 10,000.
func (f *Flow[S]) WithMaxSteps(n int) *Flow[S] {
	f.setup.Change("WithMaxSteps", func() {
		if n < 1 {
			f.setup.Addf("WithMaxSteps", "%d is below 1", n)
			return
		}
		f.maxSteps = n
	})
	return f
}

// connect adds e unless its place is taken.
func (f *Flow[S]) connect(method string, e edge[S]) {
	for _, other := range f.out[e.from] {
		if other.action == e.action {
			f.setup.Addf(method, "node %q already has an edge for the action %s", e.from.Name(), quoted(e.action))
			return
		}
	}
	f.edges = append(f.edges, e)
	if f.out == nil {
		f.out = map[node.Node[S]][]edge[S]{}
	}
	f.out[e.from] = append(f.out[e.from], e)
}

// usable reports whether n is not nil, as a value and not only as a type, and
// can be distinguished from other nodes.
func (f *Flow[S]) usable(where string, n node.Node[S]) bool {
	if invalid.Nil(n) {
		f.setup.Addf(where, "the node is nil")
		return false
	}
	if !reflect.ValueOf(n).Comparable() {
		f.setup.Addf(where, "node %q cannot be compared, being a %T: use a pointer to it", n.Name(), n)
		return false
	}
	return true
}
