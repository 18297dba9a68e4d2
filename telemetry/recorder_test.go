package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/headrace/headrace/telemetry"
)

// recorder is a provider that records everything, one line each:
// "name=value key=value ...", with the attributes in their order.
type recorder struct {
	noop.MeterProvider
	refuse map[string]bool // instruments that cannot be made

	mu    sync.Mutex // guards scope, lines, made
	scope string
	lines []string
	made  map[string]string // unit, description and boundaries by name

	callback metric.Callback // under mu; may be nil
}

func record(tb testing.TB, c telemetry.Config) (*recorder, *telemetry.Observer) {
	tb.Helper()
	r := &recorder{made: map[string]string{}}
	c.MeterProvider = r
	o, err := telemetry.New(c)
	require.NoError(tb, err)
	return r, o
}

// taken gives the lines so far, sorted, and forgets them.
func (r *recorder) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	slices.Sort(lines)
	return lines
}

func (r *recorder) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	r.scope = name + " " + metric.NewMeterConfig(opts...).SchemaURL()
	return &meter{r: r}
}

func (r *recorder) make(name, what string) error {
	r.made[name] = what
	if r.refuse[name] {
		return errors.New("no such instrument")
	}
	return nil
}

func (r *recorder) told(name string, value any, attrs attribute.Set) {
	line := []string{fmt.Sprintf("%s=%v", name, value)}
	for _, a := range attrs.ToSlice() {
		line = append(line, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, strings.Join(line, " "))
}

type meter struct {
	noop.Meter
	r *recorder
}

type (
	counter struct {
		noop.Int64Counter
		r    *recorder
		name string
	}
	numbers struct {
		noop.Int64Histogram
		r    *recorder
		name string
	}
	seconds struct {
		noop.Float64Histogram
		r    *recorder
		name string
	}
)

func (m *meter) Int64Counter(name string, opts ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	c := metric.NewInt64CounterConfig(opts...)
	return &counter{r: m.r, name: name}, m.r.make(name, fmt.Sprintf("%s: %s", c.Unit(), c.Description()))
}

func (m *meter) Int64Histogram(name string, opts ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	c := metric.NewInt64HistogramConfig(opts...)
	return &numbers{r: m.r, name: name}, m.r.make(name, fmt.Sprintf("%s: %s %v", c.Unit(), c.Description(), c.ExplicitBucketBoundaries()))
}

func (m *meter) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	c := metric.NewFloat64HistogramConfig(opts...)
	return &seconds{r: m.r, name: name}, m.r.make(name, fmt.Sprintf("%s: %s %v", c.Unit(), c.Description(), c.ExplicitBucketBoundaries()))
}

func (m *meter) Int64ObservableUpDownCounter(name string, opts ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	c := metric.NewInt64ObservableUpDownCounterConfig(opts...)
	return &upDown{name: name}, m.r.make(name, fmt.Sprintf("%s: %s", c.Unit(), c.Description()))
}

func (m *meter) Float64ObservableGauge(name string, opts ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	c := metric.NewFloat64ObservableGaugeConfig(opts...)
	return &gauge{name: name}, m.r.make(name, fmt.Sprintf("%s: %s", c.Unit(), c.Description()))
}

type (
	upDown struct {
		noop.Int64ObservableUpDownCounter
		name string
	}
	gauge struct {
		noop.Float64ObservableGauge
		name string
	}
)

// RegisterCallback keeps the callback until it is unregistered.
func (m *meter) RegisterCallback(f metric.Callback, of ...metric.Observable) (metric.Registration, error) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	if len(of) != 4 || m.r.callback != nil {
		return nil, errors.New("registered wrongly, or twice")
	}
	m.r.callback = f
	return &registration{r: m.r}, nil
}

type registration struct {
	noop.Registration
	r *recorder
}

func (r *registration) Unregister() error {
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	r.r.callback = nil
	return nil
}

// looked gives what the callback observes, sorted; nil if there is none.
func (r *recorder) looked(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	f := r.callback
	r.mu.Unlock()
	if f == nil {
		return nil
	}
	require.NoError(t, f(t.Context(), &looker{r: r}))
	return r.taken()
}

type looker struct {
	noop.Observer
	r *recorder
}

func (l *looker) ObserveInt64(i metric.Int64Observable, v int64, opts ...metric.ObserveOption) {
	l.r.told(i.(*upDown).name, v, metric.NewObserveConfig(opts).Attributes())
}

func (l *looker) ObserveFloat64(i metric.Float64Observable, v float64, opts ...metric.ObserveOption) {
	l.r.told(i.(*gauge).name, v, metric.NewObserveConfig(opts).Attributes())
}

func (c *counter) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	c.r.told(c.name, n, metric.NewAddConfig(opts).Attributes())
}

func (h *numbers) Record(_ context.Context, n int64, opts ...metric.RecordOption) {
	h.r.told(h.name, n, metric.NewRecordConfig(opts).Attributes())
}

func (h *seconds) Record(_ context.Context, v float64, opts ...metric.RecordOption) {
	h.r.told(h.name, v, metric.NewRecordConfig(opts).Attributes())
}
