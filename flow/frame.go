package flow

import (
	"context"

	"github.com/headrace/headrace/event"
)

// maxNesting is how many flows may run inside each other. A flow that contains itself without a node
// before it would otherwise go deeper until the stack is full.
const maxNesting = 1000

// frame is the context of what runs inside of flows and batches of flows.
type frame struct {
	context.Context //nolint:containedctx // it is a context

	index int64 // of the innermost instance, or NoIndex
	depth int   // how many flows are around
}

type frameKey struct{}

func (f *frame) Value(key any) any {
	if key == (frameKey{}) {
		return f
	}
	return f.Context.Value(key)
}

// frameOf returns the innermost frame of ctx. Outside of all it is one without an instance or a flow.
func frameOf(ctx context.Context) *frame {
	if f, ok := ctx.Value(frameKey{}).(*frame); ok {
		return f
	}
	return &outermost
}

var outermost = frame{index: event.NoIndex} //nolint:gochecknoglobals // a constant
