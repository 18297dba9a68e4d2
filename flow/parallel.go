package flow

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/node"
)

// forked is a node made by Parallel.
type forked[S any] struct {
	vouched

	setup invalid.Setup
	name  string
	nodes []node.Node[S]
}

// Parallel returns a node that runs nodes at the same time and ends when all of them have ended. Each
// must write only to its own part of the state, and return node.Next. The node is safe for concurrent
// runs if its nodes are.
//
// If a node fails the others begin nothing new, and running calls may finish within ten seconds, or
// the WithGrace of a batch. The error joins a *StepError for each node that failed by itself.
func Parallel[S any](name string, nodes ...node.Node[S]) node.Node[S] {
	f := &forked[S]{name: name, nodes: slices.Clone(nodes)}
	f.setup.Init("flow " + strconv.Quote(name))
	if name == "" {
		f.setup.Addf("name", "it is empty: errors, events and drawings need one")
	}
	if len(nodes) == 0 {
		f.setup.Addf("nodes", "there are none")
	}
	seen := map[string]bool{}
	for i, n := range nodes {
		field := fmt.Sprintf("nodes[%d]", i)
		if invalid.Nil(n) {
			f.setup.Addf(field, "the node is nil")
			continue
		}
		if seen[n.Name()] {
			f.setup.Addf(field, "another node is named %q: errors and reports identify nodes by name", n.Name())
		}
		seen[n.Name()] = true
	}
	return f
}

// Name returns the node's name.
func (f *forked[S]) Name() string { return f.name }

// Validate joins all problems of the nodes, each a *fault.FieldError.
func (f *forked[S]) Validate() error { return validate(f) }

func (f *forked[S]) checkForRun() error { return checkForRun(f, &f.vouched) }

// checkGraph joins the problems of the fork itself.
func (f *forked[S]) checkGraph(bool) error { return f.setup.Err() }

// contents implements container.
func (f *forked[S]) contents() (any, []any) {
	inside := make([]any, len(f.nodes))
	for i, n := range f.nodes {
		inside[i] = n
	}
	return f, inside
}

// draw implements container.
func (f *forked[S]) draw(d *diagram) {
	begin := d.id()
	d.linef("%s((%s))", begin, label("fork"))
	ids := make([]string, len(f.nodes))
	for i, n := range f.nodes {
		ids[i] = d.node(n)
	}
	join := d.id()
	d.linef("%s((%s))", join, label("join"))
	for _, id := range ids {
		d.linef("%s --> %s --> %s", begin, id, join)
	}
}
