package event_test

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/node"
)

// stopwatch is an observer that follows runs of nodes.
type stopwatch struct{}

func (stopwatch) Observe(event.Event) {}

func (stopwatch) Traces(kind event.Kind) bool { return kind == event.NodeStarted }

func (stopwatch) Trace(ctx context.Context, begin event.Event) (context.Context, func(event.Event)) {
	fmt.Println(begin.Source, "began")
	return ctx, func(end event.Event) { fmt.Println(end.Source, "ended") }
}

func (stopwatch) Note(context.Context, event.Event) {}

// A tracer follows each run of a node. It can give the work a context of its
// own, such as that of a span.
func ExampleTracer() {
	ctx := event.With(context.Background(), stopwatch{})
	ask := node.Map("ask", func(_ context.Context, i int) (int, error) { return i, nil })
	_, err := ask.All(ctx, []int{1, 2, 3})
	fmt.Println(err)
	// Output:
	// ask began
	// ask ended
	// <nil>
}
