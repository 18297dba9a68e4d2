package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/event"
)

// nodes are the instruments for what flows, nodes and items tell.
type nodes struct {
	flow, node, item metric.Float64Histogram
	items, retries   metric.Int64Counter

	flowNames, nodeNames *memory[string, string] // by themselves
	labels               *memory[work, *labels]
}

// newNodes has boundaries that are chosen by judgement: items from a millisecond, runs up to a day.
func newNodes(m *maker, maxNames int) *nodes {
	runs := []float64{0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400}
	return &nodes{
		flow: m.seconds("headrace.flow.duration", "Duration of runs of flows.", runs...),
		node: m.seconds("headrace.node.duration", "Duration of runs of nodes.", runs...),
		item: m.seconds("headrace.node.item.duration", "Duration of items from when a worker took them, with waits and all attempts.",
			0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900),
		items:     m.counter("headrace.node.items", "{item}", "Items that have ended, by outcome."),
		retries:   m.counter("headrace.node.retries", "{retry}", "Attempts that failed and were followed by another."),
		flowNames: newMemory(maxNames, itself), nodeNames: newMemory(maxNames, itself),
		labels: newMemory(maxLabels, work.labels),
	}
}

func itself(name string) string { return name }

func (n *nodes) observe(e event.Event) {
	ctx, w := context.Background(), work{name: e.Source, outcome: outcomeOf(e.Kind)}
	names := n.nodeNames
	if w.flow = e.Kind == event.FlowFinished; w.flow {
		names = n.flowNames
	}
	if _, kept := names.kept(w.name); !kept {
		w.name = other
	}
	if e.Err != nil {
		w.failure = failureType(e.Err)
	}
	l := n.labels.get(w)
	switch e.Kind {
	case event.FlowFinished:
		n.flow.Record(ctx, e.Wait.Seconds(), l.record...)
	case event.NodeFinished:
		n.node.Record(ctx, e.Wait.Seconds(), l.record...)
	case event.ItemRetry:
		n.retries.Add(ctx, 1, l.add...)
	case event.ItemResumed:
		n.items.Add(ctx, 1, l.add...)
	default: // an item's end
		n.items.Add(ctx, 1, l.add...)
		n.item.Record(ctx, e.Wait.Seconds(), l.record...)
	}
}

// outcomeOf is what an item came to; empty if e is no end of an item.
func outcomeOf(kind event.Kind) string {
	switch kind {
	case event.ItemDone:
		return "done"
	case event.ItemResumed:
		return "resumed"
	case event.ItemFailed:
		return "failed"
	case event.ItemAbandoned:
		return "abandoned"
	default:
		return ""
	}
}

// work is what runs or items with the same attributes have in common.
type work struct {
	name    string
	flow    bool
	outcome string // or empty
	failure string // or empty
}

func (w work) labels() *labels {
	attrs := make([]attribute.KeyValue, 0, 3)
	if w.flow {
		attrs = append(attrs, attribute.String("headrace.flow.name", w.name))
	} else {
		attrs = append(attrs, attribute.String("headrace.node.name", w.name))
	}
	if w.outcome != "" {
		attrs = append(attrs, attribute.String("headrace.item.outcome", w.outcome))
	}
	if w.failure != "" {
		attrs = append(attrs, attribute.String("error.type", w.failure))
	}
	return newLabels(attrs...)
}
