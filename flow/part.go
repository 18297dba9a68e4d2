package flow

import (
	"slices"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/internal/inside"
	"github.com/headrace/headrace/node"
)

// Part is for package engine.
func (f *Flow[S]) Part(inside.Key) (p engine.Part, nodes []any, check func() error) {
	all := f.nodes()
	p = engine.Part{
		Kind: engine.Flow, Name: f.name, MaxSteps: f.maxSteps,
		Follow: func(from int, action string) (to int, err error) {
			next, err := f.follow(all[from], node.Action(action))
			if next == nil || err != nil {
				return -1, err
			}
			return slices.Index(all, next), nil
		},
	}
	for _, e := range f.edges {
		if from := slices.Index(all, e.from); from >= 0 {
			to := -1
			if e.to != nil {
				to = slices.Index(all, e.to)
			}
			p.Edges = append(p.Edges, engine.Edge{From: from, Action: string(e.action), To: to})
		}
	}
	_, nodes = f.contents()
	return p, nodes, func() error { return f.checkGraph(true) }
}

// Part is for package engine.
func (f *forked[S]) Part(inside.Key) (p engine.Part, nodes []any, check func() error) {
	_, nodes = f.contents()
	return engine.Part{Kind: engine.Fork, Name: f.name}, nodes, func() error { return f.checkGraph(true) }
}

// Inner is the node that runs for each item, for package node.
func (h *instances[S, T]) Inner(inside.Key) any { return h.inner }
