package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/event"
)

// breakers is the instrument for the events of circuit breakers.
type breakers struct {
	changes metric.Int64Counter
	names   *memory[string, string] // by themselves
}

func newBreakers(m *maker, maxNames int) *breakers {
	return &breakers{
		changes: m.counter("headrace.breaker.changes", "{change}", "Times that a circuit breaker changed its state."),
		names:   newMemory(maxNames, itself),
	}
}

func (b *breakers) observe(e event.Event) {
	state := "open"
	switch e.Kind {
	case event.BreakerHalfOpen:
		state = "half-open"
	case event.BreakerClosed:
		state = "closed"
	default:
	}
	name := e.Source
	if _, kept := b.names.kept(name); !kept {
		name = other
	}
	b.changes.Add(context.Background(), 1, metric.WithAttributes( // it is rare
		attribute.String("headrace.breaker.name", name), attribute.String("headrace.breaker.state", state)))
}
