//go:build otlp

package gateway

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// export sends metrics and traces by HTTP to the receiver that the environment names, if it does.
func export(ctx context.Context, o *Options) (to exporters, err error) {
	set := map[string]bool{}
	for _, name := range otlpVariables() {
		set[name] = o.Getenv(name) != ""
	}
	if p := o.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != "http/protobuf" {
		return to, &settings.Error{Flag: "OTEL_EXPORTER_OTLP_PROTOCOL", Problem: fmt.Sprintf("%q is not spoken here: http/protobuf is", p)}
	}
	if set[otlpEndpoint] || set[otlpMetrics] {
		e, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return to, &settings.Error{Flag: otlpEndpoint, Problem: settings.Plain(err)}
		}
		to.metrics = metric.NewPeriodicReader(e)
	}
	if set[otlpEndpoint] || set[otlpTraces] {
		if to.traces, err = otlptracehttp.New(ctx); err != nil {
			return to, &settings.Error{Flag: otlpEndpoint, Problem: settings.Plain(err)}
		}
	}
	return to, nil
}
