package telemetry_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric/noop"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/telemetry"
	"github.com/headrace/headrace/throttle"
)

// With providers of the SDK in place of these, each item is a span, and what
// the guard does is a metric for as long as it is watched.
func ExampleObserver_Watch() {
	observer, err := telemetry.New(telemetry.Config{
		MeterProvider: noop.NewMeterProvider(), TracerProvider: nooptrace.NewTracerProvider(),
		Spans: telemetry.Spans{Items: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := guard.New(guard.Policy{Name: "api", Limits: throttle.Limits{Concurrency: 4}})
	if err != nil {
		fmt.Println(err)
		return
	}
	stop := observer.Watch(api)
	defer stop()

	double := node.Map("double", func(_ context.Context, i int) (int, error) { return 2 * i, nil }).Within(api)
	fmt.Println(double.All(event.With(context.Background(), observer), []int{1, 2, 3}))
	// Output: [2 4 6] <nil>
}
