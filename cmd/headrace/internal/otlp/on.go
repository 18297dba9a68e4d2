//go:build otlp

package otlp

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// The exporters read the variables themselves.

func newMetrics(ctx context.Context) (metric.Reader, error) {
	e, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return nil, &settings.Error{Flag: Endpoint, Problem: settings.Plain(err)}
	}
	return metric.NewPeriodicReader(e), nil
}

func newTraces(ctx context.Context) (trace.SpanExporter, error) {
	e, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, &settings.Error{Flag: Endpoint, Problem: settings.Plain(err)}
	}
	return e, nil
}

func (e Environment) check(*slog.Logger, string) error {
	const protocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
	if p := e(protocol); p != "" && p != "http/protobuf" {
		return &settings.Error{Flag: protocol, Problem: fmt.Sprintf("%q is not supported: use http/protobuf", p)}
	}
	return nil
}
