package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/invalid"
)

// Spans chooses the spans. The zero value has one for each run of a flow or a node and for
// each model call, except inside the items of a batch.
type Spans struct {
	// Off turns all spans off.
	Off bool
	// Items adds a span for each item of a batch, and for flows, nodes and model calls inside.
	Items bool
	// Attempts adds a span for each attempt at an item or a step, from its admission on.
	Attempts bool
	// Keys adds headrace.item.key, the item's key, which must not be a secret.
	Keys bool
	// ErrorText adds the text of errors. Errors of headrace have no secrets in them; others may
	// have content of requests and responses.
	ErrorText bool
}

func (s *Spans) validate(p *invalid.Problems) {
	if s.Off && (s.Items || s.Attempts || s.Keys || s.ErrorText) {
		p.Addf("Spans", "Off, and more: choose")
	}
	if s.Keys && !s.Items && !s.Off {
		p.Addf("Spans.Keys", "without Items there is no span to have them")
	}
}

type spans struct {
	Spans

	tracer trace.Tracer
}

func (s *spans) wants(kind event.Kind) bool {
	switch kind {
	case event.FlowStarted, event.NodeStarted:
		return !s.Off
	case event.ItemStarted:
		return s.Items
	case event.AttemptStarted:
		return s.Attempts
	default: // of a later version
		return false
	}
}

// leaves reports whether what begins under ctx is inside an item, of which there are too many.
func (s *spans) leaves(ctx context.Context) bool { return s.Off || !s.Items && emit.IsInside(ctx) }

func (s *spans) begin(ctx context.Context, e event.Event) (context.Context, func(event.Event)) {
	var name string
	attrs, n := [...]attribute.KeyValue{attribute.String("headrace.node.name", e.Source), {}, {}}, 1
	switch e.Kind {
	case event.FlowStarted:
		name, attrs[0] = "flow ", attribute.String("headrace.flow.name", e.Source)
	case event.NodeStarted:
		name = "node "
	case event.ItemStarted:
		name = "item "
		attrs[n], n = attribute.Int64("headrace.item.index", e.Index), n+1
	case event.AttemptStarted:
		name = "attempt "
		attrs[n], n = attribute.Int("headrace.attempt", e.Attempt), n+1
		if e.Index >= 0 {
			attrs[n], n = attribute.Int64("headrace.item.index", e.Index), n+1
		}
	default:
		return ctx, nil
	}
	if e.Kind != event.AttemptStarted && e.Kind != event.ItemStarted && s.leaves(ctx) {
		return ctx, nil
	}
	ctx, span := s.tracer.Start(ctx, name+e.Source, trace.WithAttributes(attrs[:n]...))
	return ctx, func(last event.Event) { s.end(span, last) }
}

func (s *spans) end(span trace.Span, e event.Event) {
	if span.IsRecording() {
		s.conclude(span, e)
	}
	span.End()
}

// conclude has the span say what it came to.
func (s *spans) conclude(span trace.Span, e event.Event) {
	outcome := outcomeOf(e.Kind)
	if outcome != "" {
		span.SetAttributes(attribute.String("headrace.item.outcome", outcome), attribute.Int("headrace.item.attempts", e.Attempt))
		if s.Keys && e.Key != "" {
			span.SetAttributes(attribute.String("headrace.item.key", e.Key))
		}
	}
	if e.Kind == event.FlowFinished && e.Err == nil {
		span.SetAttributes(attribute.String("headrace.action", e.Reason))
	}
	if e.Err == nil {
		return
	}
	span.SetAttributes(attribute.String("error.type", failureType(e.Err)))
	if e.Kind != event.ItemAbandoned { // it is pending, and no failure
		s.fail(span, e.Err)
	}
}

// fail has the span say that err is why it failed, by the conventions for errors.
func (s *spans) fail(span trace.Span, err error) {
	span.SetStatus(codes.Error, failureType(err))
	if s.ErrorText {
		defer func() { _ = recover() }() // the methods of err are user code
		span.SetStatus(codes.Error, err.Error())
		span.RecordError(err)
		return
	}
	span.AddEvent("exception", trace.WithAttributes(attribute.String("exception.type", typeName(err))))
}

// note adds to a span what happened under it.
func note(span trace.Span, e event.Event) {
	if !span.IsRecording() {
		return
	}
	attrs := make([]attribute.KeyValue, 0, 5)
	switch e.Kind {
	case event.ItemRetry:
		attrs = append(attrs, attribute.Int("headrace.attempt", e.Attempt), attribute.Float64("headrace.wait", e.Wait.Seconds()))
		if e.Index >= 0 {
			attrs = append(attrs, attribute.Int64("headrace.item.index", e.Index))
		}
	case event.LimiterHit:
		attrs = append(attrs, attribute.String("headrace.limiter.name", e.Source), attribute.String("headrace.limiter.hit.kind", e.Key),
			attribute.Float64("headrace.wait", e.Wait.Seconds()))
	case event.LimiterCut:
		attrs = append(attrs, attribute.String("headrace.limiter.name", e.Source),
			attribute.Float64("headrace.limiter.from", e.From), attribute.Float64("headrace.limiter.to", e.To))
	case event.LimiterClosed:
		attrs = append(attrs, attribute.String("headrace.limiter.name", e.Source))
	case event.FlowStep:
		attrs = append(attrs, attribute.String("headrace.node.name", e.Key), attribute.String("headrace.action", e.Reason),
			attribute.Int("headrace.flow.step", e.Attempt))
	default:
		return
	}
	if e.Err != nil {
		attrs = append(attrs, attribute.String("error.type", failureType(e.Err)))
	}
	span.AddEvent("headrace."+string(e.Kind), trace.WithAttributes(attrs...))
}
