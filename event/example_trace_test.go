package event_test

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/event"
)

// stopwatch is an observer that follows runs of nodes.
type stopwatch struct{}

func (stopwatch) Observe(event.Event) {}

func (stopwatch) Traces(kind event.Kind) bool { return kind == event.NodeStarted }

func (stopwatch) Trace(ctx context.Context, begin event.Event) (context.Context, func(event.Event)) {
	fmt.Println(begin.Source, "began")
	return ctx, func(end event.Event) { fmt.Println(begin.Source, "took", end.Time.Sub(begin.Time)) }
}

func (stopwatch) Note(context.Context, event.Event) {}

// Nodes do this; a tracer gives the work a context of its own, such as that of a span.
func ExampleTracer() {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ctx := event.With(context.Background(), stopwatch{})

	_, end := event.Trace(ctx, event.New(now, event.NodeStarted, "ask"))
	end(event.New(now.Add(time.Second), event.NodeFinished, "ask"))
	// Output:
	// ask began
	// ask took 1s
}
