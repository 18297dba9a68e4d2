package flow

import (
	"context"

	"github.com/headrace/headrace/event"
)

// instance is the context of one instance of a batch of flows. What the flows
// inside tell has its index.
type instance struct {
	context.Context //nolint:containedctx // it is a context

	index int64
}

type instanceKey struct{}

// Value makes the instance findable by indexOf.
func (i *instance) Value(key any) any {
	if key == (instanceKey{}) {
		return i
	}
	return i.Context.Value(key)
}

// inInstance returns ctx for instance number index, if there is an observer.
func inInstance(ctx context.Context, index int64) context.Context {
	if event.From(ctx) == nil {
		return ctx
	}
	return &instance{ctx, index}
}

// indexOf is the number of the innermost instance around ctx, or event.NoIndex.
func indexOf(ctx context.Context) int64 {
	if i, ok := ctx.Value(instanceKey{}).(*instance); ok {
		return i.index
	}
	return event.NoIndex
}
