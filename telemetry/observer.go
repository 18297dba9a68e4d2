package telemetry

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

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

// FieldError names a field of a [Config] that cannot be used. It is the type
// that every constructor of this module reports; find it with errors.As.
// It is one type in all packages, with the fields Owner, Field and Problem, all strings.
type FieldError = invalid.FieldError

// Config says where measurements go. The zero value is ready to use.
type Config struct {
	// MeterProvider makes the instruments. Nil means otel.GetMeterProvider(), which
	// passes everything on to the provider that otel.SetMeterProvider is given, now or later.
	MeterProvider metric.MeterProvider

	// MaxNames is how many hosts with their ports are told apart, how many services, and how many
	// limiters. All that are met later are one, _OTHER. 0 means 100, chosen by judgement.
	MaxNames int
}

// Observer is an event.Observer that records metrics. It has no end: measurements
// go to the provider, which is the one to be shut down. All methods are safe for
// concurrent use.
type Observer struct {
	requests  *requests
	downloads *downloads
	limiters  *limiters
}

var _ event.Observer = (*Observer)(nil)

// New makes the instruments. All problems are joined in one error: those of c
// as a [*FieldError], and those that the provider has with an instrument.
func New(c Config) (*Observer, error) {
	problems := invalid.Problems{Owner: "telemetry"}
	if c.MaxNames < 0 {
		problems.Addf("MaxNames", "%d; want at least 1, or 0 for %d", c.MaxNames, defaultMaxNames)
	}
	if c.MaxNames == 0 {
		c.MaxNames = defaultMaxNames
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
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return o, nil
}

// Observe records what e tells, and nothing for kinds that the package doc does not
// name. It is as fast as the instruments, and makes no attributes that it has made before.
func (o *Observer) Observe(e event.Event) {
	switch e.Kind {
	case event.NetRequest:
		o.requests.observe(e)
	case event.DownloadFetch:
		o.downloads.observe(e)
	case event.LimiterHit, event.LimiterCut:
		o.limiters.observe(e)
	default: // of no interest, or of a later version
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
