package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/headrace/headrace/cmd/headrace/internal/otlp"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/telemetry"
)

// meters holds the metrics that /metrics serves and OTLP sends. It is an http.Handler.
type meters struct {
	registry *registry.Registry
	reader   *metric.ManualReader
	metrics  *metric.MeterProvider
	traces   *trace.TracerProvider // nil without OTLP
	observe  *telemetry.Observer

	mu      sync.Mutex        // guards watched
	watched map[string]func() // ends the watching of each
}

func newMeters(ctx context.Context, o *Options, r *registry.Registry) (*meters, error) {
	m := &meters{registry: r, reader: metric.NewManualReader(), watched: map[string]func(){}}
	environment := otlp.Environment(o.Getenv)
	if err := environment.Check(o.Log); err != nil {
		return nil, err
	}
	sent, err := environment.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	options := []metric.Option{metric.WithReader(m.reader)}
	if sent != nil {
		options = append(options, metric.WithReader(sent))
	}
	m.metrics = metric.NewMeterProvider(options...)
	config := telemetry.Config{MeterProvider: m.metrics}
	if m.traces, err = environment.Traces(ctx); err != nil {
		return nil, err
	}
	if m.traces != nil {
		config.TracerProvider = m.traces
	}
	m.observe, err = telemetry.New(config)
	return m, err
}

// watch adds limiters that are new since the last call to the gauges.
func (m *meters) watch() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, g := range m.registry.All() {
		if m.watched[name] == nil {
			m.watched[name] = m.observe.Watch(g)
		}
	}
}

// ServeHTTP writes the metrics in the text format of Prometheus.
func (m *meters) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.watch()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(r.Context(), &all); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(exposition(&all))
}

// close sends the metrics that have not been sent yet.
func (m *meters) close(ctx context.Context) error {
	m.mu.Lock()
	for _, end := range m.watched {
		end()
	}
	m.mu.Unlock()
	err := m.metrics.Shutdown(ctx)
	if m.traces != nil {
		err = errors.Join(err, m.traces.Shutdown(ctx))
	}
	return err
}
