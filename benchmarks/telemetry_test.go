package benchmarks

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/telemetry"
	"github.com/headrace/headrace/throttle"
)

// BenchmarkTelemetry is the guarded batch of BenchmarkBatchGuarded with what
// watches it. The work is none at all, so that what is measured is the price of looking: next to a
// call of a millisecond all of these are nothing.
func BenchmarkTelemetry(b *testing.B) {
	meters := func() metric.MeterProvider {
		return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	}
	spans := func() trace.TracerProvider { return sdktrace.NewTracerProvider() } // to no exporter
	none := func() metric.MeterProvider { return noopmetric.NewMeterProvider() }
	deaf := event.Func(func(event.Event) {})
	batches(b, allCores, []batch{
		{"without", observedBatch(b, nil)},
		{"events-to-nobody", observedBatch(b, deaf)},
		{"metrics", observedBatch(b, observer(b, telemetry.Config{MeterProvider: meters(), Spans: telemetry.Spans{Off: true}}))},
		{"spans", observedBatch(b, observer(b, telemetry.Config{MeterProvider: none(), TracerProvider: spans()}))},
		{"spans-of-items-noop", observedBatch(b, observer(b, telemetry.Config{
			MeterProvider: none(), TracerProvider: nooptrace.NewTracerProvider(), Spans: telemetry.Spans{Items: true},
		}))},
		{"spans-of-items", observedBatch(b, observer(b, telemetry.Config{
			MeterProvider: none(), TracerProvider: spans(), Spans: telemetry.Spans{Items: true},
		}))},
		{"all", observedBatch(b, observer(b, telemetry.Config{
			MeterProvider: meters(), TracerProvider: spans(), Spans: telemetry.Spans{Items: true, Attempts: true},
		}))},
	})
}

func observer(b *testing.B, c telemetry.Config) event.Observer {
	b.Helper()
	o, err := telemetry.New(c)
	if err != nil {
		b.Fatal(err)
	}
	return o
}

func observedBatch(b *testing.B, o event.Observer) func(context.Context, []int) ([]int, error) {
	b.Helper()
	m := node.Map("guarded", noop).WithParallel(batchAtOnce).
		With(guard.Policy{
			Limits: throttle.Limits{Concurrency: batchAtOnce}, Law: adaptive.AIMD{Initial: batchAtOnce}, Retry: &retry.Policy{},
		})
	return func(ctx context.Context, items []int) ([]int, error) { return m.All(event.With(ctx, o), items) }
}
