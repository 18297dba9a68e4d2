package flow

import (
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/node"
)

// Validate joins all problems of the graph and of its nodes, each a *fault.FieldError. docs/flows.md
// lists them. Run calls it first.
func (f *Flow[S]) Validate() error { return validate(f) }

func (f *Flow[S]) checkForRun() error { return checkForRun(f, &f.vouched) }

// validate joins the problems of x and of what is inside.
func validate(x any) error {
	var p invalid.Problems
	names := repeatsNames(x)
	visit(x, map[any]bool{}, func(x any) {
		switch x := x.(type) {
		case interface{ checkGraph(names bool) error }:
			p.Add(x.checkGraph(names))
		case interface{ Validate() error }:
			p.Add(x.Validate())
		}
	})
	return p.Err()
}

// checkGraph joins the problems of the graph itself; names reports whether batches inside may have the same name and journal.
func (f *Flow[S]) checkGraph(names bool) error {
	p := invalid.Problems{Owner: f.setup.Owner()}
	p.Add(f.setup.Err())
	if f.first != nil {
		f.checkReach(&p)
		f.checkEnds(&p)
		if names {
			f.checkNames(&p)
		}
	}
	return p.Err()
}

// contents implements container.
func (f *Flow[S]) contents() (any, []any) {
	var nodes []any
	for _, n := range f.nodes() {
		nodes = append(nodes, n)
	}
	return f, nodes
}

// nodes lists the nodes that can be reached, first come first.
func (f *Flow[S]) nodes() []node.Node[S] {
	if f.first == nil {
		return nil
	}
	reached := []node.Node[S]{f.first}
	seen := map[node.Node[S]]bool{f.first: true}
	for i := 0; i < len(reached); i++ {
		for _, e := range f.out[reached[i]] {
			if e.to != nil && !seen[e.to] {
				seen[e.to] = true
				reached = append(reached, e.to)
			}
		}
	}
	return reached
}

func (f *Flow[S]) checkReach(p *invalid.Problems) {
	known := map[node.Node[S]]bool{}
	for _, n := range f.nodes() {
		known[n] = true
	}
	for _, e := range f.edges {
		if !known[e.from] {
			known[e.from] = true
			p.Addf("node "+strconv.Quote(e.from.Name()), "no edge leads to it from %q, where the flow begins", f.first.Name())
		}
	}
}

// checkEnds reports the nodes from which no path leads to an end of the flow.
func (f *Flow[S]) checkEnds(p *invalid.Problems) {
	ends := map[node.Node[S]]bool{}
	before := map[node.Node[S]][]node.Node[S]{}
	var ending []node.Node[S] // those in ends that were not looked at yet
	found := func(n node.Node[S]) {
		if !ends[n] {
			ends[n] = true
			ending = append(ending, n)
		}
	}
	for _, e := range f.edges {
		if e.to == nil {
			found(e.from)
			continue
		}
		before[e.to] = append(before[e.to], e.from)
		if len(f.out[e.to]) == 0 {
			found(e.to)
		}
	}
	for len(ending) > 0 {
		end := ending[0]
		ending = ending[1:]
		for _, n := range before[end] {
			found(n)
		}
	}
	var endless []string
	for _, n := range f.nodes() {
		if len(f.out[n]) > 0 && !ends[n] {
			endless = append(endless, strconv.Quote(n.Name()))
		}
	}
	if len(endless) > 0 {
		p.Addf("loop", "no action leads out of %s: add an edge with On, or End", strings.Join(endless, ", "))
	}
}

// actions lists what n's edges name.
func (f *Flow[S]) actions(n node.Node[S]) []node.Action {
	var named []node.Action
	for _, e := range f.out[n] {
		named = append(named, e.action)
	}
	return named
}
