//go:build !otlp

package otlp

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
)

func newMetrics(context.Context) (metric.Reader, error) {
	return nil, nil //nolint:nilnil // this build has no exporter
}

func newTraces(context.Context) (trace.SpanExporter, error) {
	return nil, nil //nolint:nilnil // this build has no exporter
}

func (Environment) check(log *slog.Logger, name string) error {
	log.Warn(name + " is set, but this build cannot send OTLP: build headrace with -tags otlp; /metrics is part of every build")
	return nil
}
