package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/event"
)

// limiters are the instruments for the events and the calls of limiters.
type limiters struct {
	hits, cuts     metric.Int64Counter
	wait, duration metric.Float64Histogram
	names          *memory[string, string] // by themselves
	labels         *memory[limited, *labels]
}

// newLimiters has the boundaries of requests.
func newLimiters(m *maker, maxNames int) *limiters {
	return &limiters{
		hits: m.counter("headrace.limiter.hits", "{hit}", "Calls that the provider refused for rate."),
		cuts: m.counter("headrace.limiter.cuts", "{cut}", "Times that a limiter lowered what it allows."),
		wait: m.seconds("headrace.limiter.wait", "Time that calls waited to be admitted.",
			0, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900),
		duration: m.seconds("headrace.limiter.call.duration", "Time from the admission of calls to their end.",
			0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900),
		names:  newMemory(maxNames, itself),
		labels: newMemory(maxLabels, limited.labels),
	}
}

func (l *limiters) observe(e event.Event) {
	switch e.Kind {
	case event.LimiterWaited: // of a throttle.Limiter, which does not know how its calls end
		outcome := admitted
		if e.Err != nil {
			outcome = event.Unadmitted
		}
		l.wait.Record(context.Background(), e.Wait.Seconds(), l.of(e.Source, "headrace.limiter.outcome", outcome).record...)
		return
	case event.LimiterCut:
		l.cuts.Add(context.Background(), 1, l.of(e.Source, "", "").add...)
		return
	default:
	}
	l.hits.Add(context.Background(), 1, l.of(e.Source, "headrace.limiter.hit.kind", e.Key).add...)
}

// admitted is the outcome of a call of a throttle.Limiter that has waited.
const admitted = "admitted"

func (l *limiters) call(c event.Call) {
	ctx, to := context.Background(), l.of(c.Limiter, "headrace.limiter.outcome", c.Outcome)
	l.wait.Record(ctx, c.Queued.Seconds(), to.record...)
	if c.Outcome != event.Unadmitted {
		l.duration.Record(ctx, c.Took.Seconds(), to.record...)
	}
}

func (l *limiters) of(name string, key attribute.Key, value string) *labels {
	if _, kept := l.names.kept(name); !kept {
		name = other
	}
	return l.labels.get(limited{name, key, value})
}

// limited is what measurements of limiters with the same attributes have in common.
type limited struct {
	name  string
	key   attribute.Key // of one more
	value string        // or empty: it has none
}

func (l limited) labels() *labels {
	attrs := []attribute.KeyValue{attribute.String("headrace.limiter.name", l.name)}
	if l.value != "" {
		attrs = append(attrs, l.key.String(l.value))
	}
	return newLabels(attrs...)
}
