// Package otlp sends metrics and traces to an OTLP receiver named by the standard environment variables. Only a build with the
// tag otlp can do so, because the exporters make the program half as large again.
package otlp

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
)

// The variables that name a receiver.
const (
	Endpoint        = "OTEL_EXPORTER_OTLP_ENDPOINT"
	metricsEndpoint = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	tracesEndpoint  = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
)

// Environment returns the value of a variable, or an empty text if it is not set. In a nil Environment, no variable is set.
type Environment func(name string) string

// named returns the first of the variables that is set, or an empty text if none is set or OTEL_SDK_DISABLED is true.
func (e Environment) named(variables ...string) string {
	if e == nil || e("OTEL_SDK_DISABLED") == "true" {
		return ""
	}
	for _, name := range variables {
		if e(name) != "" {
			return name
		}
	}
	return ""
}

// Check returns a *settings.Error if a variable selects something unsupported. A build without OTLP logs a warning instead.
func (e Environment) Check(log *slog.Logger) error {
	if name := e.named(Endpoint, metricsEndpoint, tracesEndpoint); name != "" {
		return e.check(log, name)
	}
	return nil
}

// Metrics returns a reader that sends metrics, or nil if no variable names a receiver for them.
func (e Environment) Metrics(ctx context.Context) (metric.Reader, error) {
	if e.named(Endpoint, metricsEndpoint) == "" {
		return nil, nil //nolint:nilnil // see above
	}
	return newMetrics(ctx)
}

// Traces returns a provider that sends spans in batches, or nil if no variable names a receiver for them. The caller shuts it down.
func (e Environment) Traces(ctx context.Context) (*trace.TracerProvider, error) {
	if e.named(Endpoint, tracesEndpoint) == "" {
		return nil, nil //nolint:nilnil // see above
	}
	to, err := newTraces(ctx)
	if to == nil || err != nil {
		return nil, err
	}
	return trace.NewTracerProvider(trace.WithBatcher(to)), nil
}
