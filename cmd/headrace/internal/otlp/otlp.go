// Package otlp sends metrics and traces to a receiver of OTLP that the standard variables name. Only a build with the
// tag otlp can: its exporters would make every other one half as large again.
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

// Environment returns the value of a variable, empty if it is not set. A nil Environment has none.
type Environment func(name string) string

// named returns the first of the variables that is set; empty if none is, or if OTEL_SDK_DISABLED is true.
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

// Check returns a *settings.Error if a variable asks for what is not supported. A build that sends nothing warns instead.
func (e Environment) Check(log *slog.Logger) error {
	if name := e.named(Endpoint, metricsEndpoint, tracesEndpoint); name != "" {
		return e.check(log, name)
	}
	return nil
}

// Metrics returns what sends metrics; nil if no variable names a receiver of them.
func (e Environment) Metrics(ctx context.Context) (metric.Reader, error) {
	if e.named(Endpoint, metricsEndpoint) == "" {
		return nil, nil //nolint:nilnil // see above
	}
	return newMetrics(ctx)
}

// Traces returns a provider whose spans are sent in batches; nil if no variable names a receiver of them. Shut it down.
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
