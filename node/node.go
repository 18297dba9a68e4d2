package node

import "context"

// Action is the label by which a step picks its successor.
type Action string

// Next is the action of a step that simply continues.
const Next Action = ""

// Node is one step over the shared state S. A flow is a Node too. Run must be safe for concurrent use
// if the node is part of a batch of flows.
type Node[S any] interface {
	// Name identifies the node in errors, events and drawings.
	Name() string
	// Run works on s and returns the action that picks what follows.
	Run(ctx context.Context, s S) (Action, error)
}

// None is the state of a batch without one, such as those of Map.
type None = struct{}
