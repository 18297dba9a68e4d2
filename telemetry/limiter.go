package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/event"
)

// limiters are the instruments for the events of limiters.
type limiters struct {
	hits, cuts metric.Int64Counter
	names      *memory[string, *labels]
	unknown    *labels
}

func newLimiters(m *maker, maxNames int) *limiters {
	return &limiters{
		hits:    m.counter("headrace.limiter.hits", "{hit}", "Calls that the provider refused for rate."),
		cuts:    m.counter("headrace.limiter.cuts", "{cut}", "Times that a limiter lowered what it allows."),
		names:   newMemory(maxNames, limiterLabels),
		unknown: limiterLabels(other),
	}
}

func limiterLabels(name string) *labels {
	return newLabels(attribute.String("headrace.limiter.name", name))
}

func (l *limiters) observe(e event.Event) {
	to, kept := l.names.kept(e.Source)
	if !kept {
		to = l.unknown
	}
	counter := l.hits
	if e.Kind == event.LimiterCut {
		counter = l.cuts
	}
	counter.Add(context.Background(), 1, to.add...)
}
