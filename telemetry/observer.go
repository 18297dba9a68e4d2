package telemetry

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
)

const (
	// scope names what makes the measurements.
	scope = "github.com/headrace/headrace/telemetry"
	// schema is the version of the conventions that names and attributes are from.
	schema = "https://opentelemetry.io/schemas/1.43.0"

	defaultMaxNames = 100
)

// Config says where metrics and spans go. The zero value is ready to use.
type Config struct {
	// MeterProvider makes the instruments. Nil means otel.GetMeterProvider(), also if it
	// is set later.
	MeterProvider metric.MeterProvider

	// TracerProvider makes the spans. Nil means otel.GetTracerProvider(), also if it is
	// set later.
	TracerProvider trace.TracerProvider

	// Spans chooses the spans.
	Spans Spans

	// MaxNames is the maximum of names of each kind in metrics, such as hosts with their
	// ports, limiters or models. 0 means 100, chosen by judgement.
	MaxNames int
}

// Observer is an event.Observer that records metrics, and an event.Tracer that makes
// spans. Only the providers have to be shut down. All methods are safe for concurrent use.
type Observer struct {
	requests  *requests
	downloads *downloads
	limiters  *limiters
	breakers  *breakers
	gauges    *gauges
	nodes     *nodes
	tasks     *tasks
	pools     *pools
	models    *models
	spans     *spans
}

var (
	_ event.Tracer       = (*Observer)(nil)
	_ event.CallObserver = (*Observer)(nil)
)

// New returns an observer. The error joins a *fault.FieldError for each problem of c, and
// the errors of the provider.
func New(c Config) (*Observer, error) {
	problems := invalid.Problems{Owner: "telemetry"}
	if c.MaxNames < 0 {
		problems.Addf("MaxNames", "%d; want at least 1, or 0 for %d", c.MaxNames, defaultMaxNames)
	}
	if c.MaxNames == 0 {
		c.MaxNames = defaultMaxNames
	}
	c.Spans.validate(&problems)
	switch {
	case c.TracerProvider == nil:
		c.TracerProvider = otel.GetTracerProvider()
	case invalid.Nil(c.TracerProvider):
		problems.Addf("TracerProvider", "a nil %T; leave it out for the global provider", c.TracerProvider)
		return nil, problems.Err()
	}
	switch {
	case c.MeterProvider == nil:
		c.MeterProvider = otel.GetMeterProvider()
	case invalid.Nil(c.MeterProvider):
		problems.Addf("MeterProvider", "a nil %T; leave it out for the global provider", c.MeterProvider)
		return nil, problems.Err()
	}
	m := maker{meter: c.MeterProvider.Meter(scope, metric.WithSchemaURL(schema)), problems: &problems}
	o := &Observer{
		requests:  newRequests(&m, c.MaxNames),
		downloads: newDownloads(&m, c.MaxNames),
		limiters:  newLimiters(&m, c.MaxNames),
		breakers:  newBreakers(&m, c.MaxNames),
		gauges:    newGauges(&m, c.MaxNames),
		nodes:     newNodes(&m, c.MaxNames),
		tasks:     newTasks(&m, c.MaxNames),
		pools:     newPools(&m, c.MaxNames),
		models:    newModels(&m, c.MaxNames),
		spans:     &spans{Spans: c.Spans, tracer: c.TracerProvider.Tracer(scope, trace.WithSchemaURL(schema))},
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return o, nil
}

// Observe implements event.Observer.
func (o *Observer) Observe(e event.Event) {
	switch e.Kind {
	case event.NetRequest:
		o.requests.observe(e)
	case event.DownloadFetch:
		o.downloads.observe(e)
	case event.LimiterHit, event.LimiterCut, event.LimiterWaited:
		o.limiters.observe(e)
	case event.BreakerOpened, event.BreakerHalfOpen, event.BreakerClosed:
		o.breakers.observe(e)
	case event.FlowProgress:
		o.gauges.progress(e)
	case event.ItemDone, event.ItemResumed, event.ItemFailed, event.ItemAbandoned, event.ItemRetry, event.NodeFinished, event.FlowFinished:
		o.nodes.observe(e)
	case event.TaskCompleted, event.TaskFailed, event.TaskCancelled, event.TaskRetry:
		o.tasks.observe(e)
	default: // of no interest, or of a later version
	}
}

// ObserveCall implements event.CallObserver.
func (o *Observer) ObserveCall(c event.Call) { o.limiters.call(c) }

// Traces implements event.Tracer.
func (o *Observer) Traces(kind event.Kind) bool {
	return kind == event.ModelStarted || o.spans.wants(kind) // a model call is a metric too
}

// Trace implements event.Tracer.
func (o *Observer) Trace(ctx context.Context, begin event.Event) (context.Context, func(event.Event)) {
	if begin.Kind == event.ModelStarted {
		return o.model(ctx, begin)
	}
	return o.spans.begin(ctx, begin)
}

// Note implements event.Tracer.
func (o *Observer) Note(ctx context.Context, e event.Event) {
	if !o.spans.Off {
		note(trace.SpanFromContext(ctx), e)
	}
}

// maker makes instruments and collects what the provider says against them.
type maker struct {
	meter    metric.Meter
	problems *invalid.Problems
}

func (m *maker) counter(name, unit, description string) metric.Int64Counter {
	i, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	m.problems.AddPart(name, err)
	return i
}

func (m *maker) seconds(name, description string, bounds ...float64) metric.Float64Histogram {
	i, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.problems.AddPart(name, err)
	return i
}

func (m *maker) numbers(name, unit, description string, bounds ...float64) metric.Int64Histogram {
	i, err := m.meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.problems.AddPart(name, err)
	return i
}

func (m *maker) upDown(name, unit, description string) metric.Int64ObservableUpDownCounter {
	i, err := m.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	m.problems.AddPart(name, err)
	return i
}

func (m *maker) gauge(name, unit, description string) metric.Float64ObservableGauge {
	i, err := m.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	m.problems.AddPart(name, err)
	return i
}
