package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/headrace/headrace/internal/inside"
	"github.com/headrace/headrace/internal/invalid"
)

// Plan is a flow as an engine sees it. Safe for concurrent use.
type Plan struct {
	parts []*Part
	paths map[string]*Part
}

// whole is a node of package node or flow.
type whole interface {
	Name() string
	// Part describes the node, and returns the nodes inside and what is wrong with it.
	Part(key inside.Key) (p Part, nodes []any, check func() error)
}

// New returns the plan of n, a flow or another node of packages flow and node. It joins the problems
// of all nodes, each a *fault.FieldError: those of Validate, states, items and results that JSON would
// change, and nodes of other types.
//
// Code is not sent to other machines. Each machine builds the same flow, and an engine sends names
// and JSON.
func New(n any) (*Plan, error) {
	b := builder{plan: &Plan{paths: map[string]*Part{}}, known: map[any]*Part{}}
	b.problems.Owner = "engine"
	if invalid.Nil(n) {
		b.problems.Addf("n", "the node is nil")
		return nil, b.problems.Err()
	}
	b.add("", n)
	for _, p := range b.plan.parts {
		b.problems.Add(p.check())
	}
	if err := b.problems.Err(); err != nil {
		return nil, err
	}
	return b.plan, nil
}

type builder struct {
	plan     *Plan
	known    map[any]*Part // by node: a flow may contain itself
	problems invalid.Problems
}

// add returns the part of x, or nil.
func (b *builder) add(above string, x any) *Part {
	n, ok := x.(whole)
	if !ok || !reflect.ValueOf(x).Comparable() {
		name := fmt.Sprintf("%T", x)
		if n, ok := x.(interface{ Name() string }); ok && !invalid.Nil(x) {
			name = n.Name()
		}
		b.problems.Addf(above+name, "a node of type %T cannot be sent to another machine: make it a node.Do or node.Decide", x)
		return nil
	}
	if p := b.known[x]; p != nil {
		return p
	}
	made, nodes, check := n.Part(inside.Key{})
	p := &made
	p.Path, p.check = above+p.Name, check
	if _, taken := b.plan.paths[p.Path]; taken {
		b.problems.Addf(p.Path, "two nodes have this name: an engine identifies nodes by name")
	}
	b.known[x], b.plan.paths[p.Path] = p, p
	b.plan.parts = append(b.plan.parts, p)
	for _, x := range nodes {
		if part := b.add(p.Path+"/", x); part != nil {
			p.Inside = append(p.Inside, part)
		}
	}
	return p
}

// Name returns the name of the outermost node.
func (p *Plan) Name() string { return p.parts[0].Name }

// Root returns the part of the outermost node.
func (p *Plan) Root() *Part { return p.parts[0] }

// Parts yields all parts, each once and before those inside.
func (p *Plan) Parts() iter.Seq[*Part] { return slices.Values(p.parts) }

// Part returns the part at path, or nil.
func (p *Plan) Part(path string) *Part { return p.paths[path] }

// Encode returns the JSON of a state of the outermost node. The error says what JSON would
// change.
func (p *Plan) Encode(state any) ([]byte, error) {
	part := p.parts[0]
	for range p.parts {
		if part.Encode != nil {
			return part.Encode(state)
		}
		part = part.Inside[0] // flows and forks have the state of what is inside
	}
	return nil, fmt.Errorf("engine: flow %q has no node but itself", p.Name())
}

// ErrDiffers is the error of a machine with another version of the flow than
// the run.
var ErrDiffers = errors.New("engine: this machine has another version of the flow than the run")

// Fingerprint is the same for plans of the same parts, edges and types, with equal bounds of steps and failures.
// Settings that do not decide how a run ends, such as WithParallel, limits and retries, are not part of it, and neither is the
// code of functions.
func (p *Plan) Fingerprint() string {
	h := sha256.New()
	for _, part := range p.parts {
		_, _ = fmt.Fprintf(h, "%q %s %q %d\n", part.Path, part.Kind, part.Types, part.MaxSteps)
		for _, in := range part.Inside {
			_, _ = fmt.Fprintf(h, " in %q\n", in.Path)
		}
		for _, e := range part.Edges {
			_, _ = fmt.Fprintf(h, " %d %q %d\n", e.From, e.Action, e.To)
		}
		if i := part.Items; i != nil {
			_, _ = fmt.Fprintf(h, " %d\n", i.MostFailures)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
