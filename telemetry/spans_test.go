package telemetry_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/telemetry"
)

// tracers counts the spans that are begun and ended. What is in them the tests
// of examples/telemetry look at, which have the SDK.
type tracers struct {
	noop.TracerProvider
	begun  []string
	ended  int
	status []string // the last one of each that is ended
}

type tracer struct {
	noop.Tracer
	of *tracers
}

type span struct {
	noop.Span
	of     *tracers
	status string
}

func (t *tracers) Tracer(string, ...trace.TracerOption) trace.Tracer { return &tracer{of: t} }

func (t *tracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	t.of.begun = append(t.of.begun, name)
	s := &span{of: t.of}
	return trace.ContextWithSpan(ctx, s), s
}

func (s *span) IsRecording() bool { return true }

func (s *span) SetStatus(_ codes.Code, text string) { s.status = text }

func (s *span) End(...trace.SpanEndOption) {
	s.of.ended++
	s.of.status = append(s.of.status, s.status)
}

// What is a span, inside an item and outside of one.
func TestWhatIsASpan(t *testing.T) {
	ends := map[event.Kind]event.Kind{
		event.FlowStarted: event.FlowFinished, event.NodeStarted: event.NodeFinished, event.ItemStarted: event.ItemFailed,
		event.AttemptStarted: event.AttemptFinished, event.ModelStarted: event.ModelFinished,
	}
	for _, c := range []struct {
		about           string
		spans           telemetry.Spans
		outside, inside []string
	}{
		{"by default", telemetry.Spans{}, []string{"flow x", "node x", "chat m"}, nil},
		{"none", telemetry.Spans{Off: true}, nil, nil},
		{"items", telemetry.Spans{Items: true}, []string{"flow x", "node x", "item x", "chat m"}, []string{"flow x", "node x", "item x", "chat m"}},
		{"attempts", telemetry.Spans{Attempts: true}, []string{"flow x", "node x", "attempt x", "chat m"}, []string{"attempt x"}},
	} {
		for want, ctx := range map[*[]string]context.Context{&c.outside: t.Context(), &c.inside: emit.Inside(t.Context())} {
			p := &tracers{}
			_, o := record(t, telemetry.Config{TracerProvider: p, Spans: c.spans})
			for _, kind := range []event.Kind{event.FlowStarted, event.NodeStarted, event.ItemStarted, event.AttemptStarted, event.ModelStarted} {
				e := event.New(time.Now(), kind, "x")
				e.Model = &event.Model{Asked: "m", URL: "https://h/v1/messages"}
				_, end := emit.Trace(event.With(ctx, o), e)
				e.Kind, e.Err = ends[kind], brokenError{}
				end(e)
				end(e)
			}
			assert.Equal(t, *want, p.begun, c.about)
			assert.Equal(t, len(p.begun), p.ended, "%s: whatever the errors do", c.about)
		}
	}
}

// An error with a text that cannot be read prevents neither the end of a span nor its measurements.
func TestSpansOfAnErrorThatPanics(t *testing.T) {
	p := &tracers{}
	r, o := record(t, telemetry.Config{TracerProvider: p, Spans: telemetry.Spans{ErrorText: true}})
	for kind, end := range map[event.Kind]event.Kind{event.NodeStarted: event.NodeFinished, event.ModelStarted: event.ModelFinished} {
		e := event.New(time.Now(), kind, "x")
		e.Model = &event.Model{Asked: "m"}
		_, ended := o.Trace(t.Context(), e)
		e.Kind, e.Err = end, brokenError{}
		assert.NotPanics(t, func() { ended(e) })
	}
	assert.Equal(t, []string{"_OTHER", "_OTHER"}, p.status)
	assert.Len(t, r.taken(), 1)
}

// An emitter of a later version, or one that leaves out what is there for it.
func TestSpansOfNothing(t *testing.T) {
	p := &tracers{}
	_, o := record(t, telemetry.Config{TracerProvider: p})
	for _, kind := range []event.Kind{"of a later version", event.ModelStarted} {
		ctx, end := o.Trace(t.Context(), event.New(time.Now(), kind, "x"))
		assert.Equal(t, t.Context(), ctx)
		assert.Nil(t, end)
	}
	assert.Empty(t, p.begun)
}
