package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/telemetry"
	"github.com/headrace/headrace/throttle"
)

// spanCollector is an observer with the spans that the SDK has of it.
type spanCollector struct {
	*telemetry.Observer
	*tracetest.SpanRecorder
	provider *trace.TracerProvider
}

func collectSpans(t *testing.T, s telemetry.Spans) spanCollector {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(recorder))
	o, err := telemetry.New(telemetry.Config{
		MeterProvider: metric.NewMeterProvider(), TracerProvider: provider, Spans: s,
	})
	require.NoError(t, err)
	return spanCollector{o, recorder, provider}
}

// lines shows each span: its name, parent, status, attributes and events, in
// the order of their ends. None is open.
func (c spanCollector) lines(t *testing.T) (all []string) {
	t.Helper()
	assert.Len(t, c.Ended(), len(c.Started()), "a span was left open")
	names := map[string]string{}
	for _, s := range c.Ended() {
		names[s.SpanContext().SpanID().String()] = s.Name()
	}
	for _, s := range c.Ended() {
		var line strings.Builder
		attributes := func(all []attribute.KeyValue) {
			for _, a := range all {
				fmt.Fprintf(&line, " %s=%s", a.Key, a.Value.String())
			}
		}
		line.WriteString(s.Name())
		if s.Parent().IsValid() {
			line.WriteString(" < " + names[s.Parent().SpanID().String()])
		}
		if s.Status().Code != codes.Unset {
			fmt.Fprintf(&line, " [%s %s]", s.Status().Code, s.Status().Description)
		}
		attributes(s.Attributes())
		for _, e := range s.Events() {
			line.WriteString(" !" + e.Name)
			attributes(e.Attributes)
		}
		all = append(all, line.String())
	}
	return all
}

// waits are drawn at random.
var waits = regexp.MustCompile(`headrace\.wait=[0-9.e-]+`)

const secret = "sk-secret"

// What is in a span, by hand.
func TestWhatIsInASpan(t *testing.T) {
	ask := func(ctx context.Context, o event.Observer) {
		n := 0
		b := node.Map("ask", func(_ context.Context, i string) (string, error) {
			if n++; n == 1 {
				return "", errors.New(secret)
			}
			return "", fmt.Errorf("around: %w", errors.New(secret))
		}).WithKey(func(in string) string { return "key of " + in }).WithRetry(retry.Policy{MaxAttempts: 2, NoJitter: true})
		f := flow.New("f", node.Do("step", func(ctx context.Context, _ node.None) error {
			_, err := b.All(ctx, []string{"a"})
			return err
		}))
		_, _ = flow.Run(ctx, f, node.None{}, flow.WithObserver(o))
	}
	const (
		first = "attempt ask < item ask [Error *errors.errorString] headrace.node.name=ask headrace.attempt=1 headrace.item.index=0 error.type=*errors.errorString !exception exception.type=*errors.errorString"
		step  = "node step < flow f [Error *node.BatchError] headrace.node.name=step error.type=*node.BatchError !exception exception.type=*node.BatchError"
		whole = "flow f [Error *flow.StepError] headrace.flow.name=f error.type=*flow.StepError !headrace.flow.step headrace.node.name=step headrace.action= headrace.flow.step=1 error.type=*node.BatchError !exception exception.type=*flow.StepError"
	)
	for name, c := range map[string]struct {
		spans telemetry.Spans
		want  []string
	}{
		"by default": {telemetry.Spans{}, []string{
			"node ask < node step [Error *node.BatchError] headrace.node.name=ask error.type=*node.BatchError !headrace.item.retry headrace.attempt=1 headrace.wait=1 headrace.item.index=0 error.type=*errors.errorString !exception exception.type=*node.BatchError",
			step, whole,
		}},
		"all": {telemetry.Spans{Items: true, Attempts: true, Keys: true}, []string{
			first,
			strings.ReplaceAll(first, "headrace.attempt=1", "headrace.attempt=2"),
			"item ask < node ask [Error *errors.errorString] headrace.node.name=ask headrace.item.index=0 headrace.item.outcome=failed headrace.item.attempts=2 headrace.item.key=key of a error.type=*errors.errorString !headrace.item.retry headrace.attempt=1 headrace.wait=1 headrace.item.index=0 error.type=*errors.errorString !exception exception.type=*errors.errorString",
			"node ask < attempt step [Error *node.BatchError] headrace.node.name=ask error.type=*node.BatchError !exception exception.type=*node.BatchError",
			"attempt step < node step [Error *node.BatchError] headrace.node.name=step headrace.attempt=1 error.type=*node.BatchError !exception exception.type=*node.BatchError",
			step, whole,
		}},
		"none": {telemetry.Spans{Off: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, spans := c, collectSpans(t, c.spans)
				ask(t.Context(), spans)
				got := spans.lines(t)
				for i := range got { // what a policy waits is not ours to know
					got[i] = waits.ReplaceAllString(got[i], "headrace.wait=1")
				}
				assert.Equal(t, c.want, got)
				assert.NotContains(t, strings.Join(got, ""), secret)
			})
		})
	}
	t.Run("the text of errors", func(t *testing.T) {
		spans := collectSpans(t, telemetry.Spans{ErrorText: true})
		ask(t.Context(), spans)
		assert.Contains(t, strings.Join(spans.lines(t), ""), "exception.message=")
	})
}

// A cancel, a panic, code that hangs or ends its goroutine leave no span open.
func TestNoSpanIsLeftOpen(t *testing.T) {
	for name, exec := range map[string]func(ctx context.Context, cancel func()) error{
		"cancel": func(ctx context.Context, cancel func()) error { cancel(); <-ctx.Done(); return ctx.Err() },
		"panic":  func(context.Context, func()) error { panic("exec") },
		"Goexit": func(context.Context, func()) error { runtime.Goexit(); return nil },
		"hang": func(_ context.Context, cancel func()) error {
			cancel()
			time.Sleep(time.Hour)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spans := collectSpans(t, telemetry.Spans{Items: true, Attempts: true})
				ctx, cancel := context.WithCancel(event.With(t.Context(), spans))
				defer cancel()
				b := node.Map("ask", func(ctx context.Context, i int) (int, error) { return i, exec(ctx, cancel) }).WithParallel(2)
				_, err := b.All(ctx, []int{1, 2, 3})
				require.Error(t, err)
				before := len(spans.Ended())
				spans.lines(t)
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				assert.Len(t, spans.Ended(), before)
			})
		})
	}
}

// own is a node of the user's own.
type own struct{ inner node.Node[node.None] }

func (o own) Name() string { return "own" }

func (o own) Run(ctx context.Context, s node.None) (node.Action, error) { return o.inner.Run(ctx, s) }

func TestNodesOfTheUsersOwnAreSpans(t *testing.T) {
	for name, c := range map[string]struct {
		f    func(context.Context, node.None) error
		want []string
	}{
		"well": {
			func(context.Context, node.None) error { return nil },
			[]string{
				"node inner < node own headrace.node.name=inner", "node own < flow f headrace.node.name=own",
				"flow f headrace.flow.name=f headrace.action= !headrace.flow.step headrace.node.name=own headrace.action= headrace.flow.step=1",
			},
		},
		"Goexit": {
			func(context.Context, node.None) error { runtime.Goexit(); return nil },
			[]string{
				"node inner < node own [Error *errors.errorString] headrace.node.name=inner error.type=*errors.errorString !exception exception.type=*errors.errorString",
				"node own < flow f [Error *errors.errorString] headrace.node.name=own error.type=*errors.errorString !exception exception.type=*errors.errorString",
				"flow f [Error *errors.errorString] headrace.flow.name=f error.type=*errors.errorString !exception exception.type=*errors.errorString",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spans := collectSpans(t, telemetry.Spans{})
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				_, _ = flow.Run(t.Context(), flow.New[node.None]("f", &own{node.Do("inner", c.f)}), node.None{}, flow.WithObserver(spans))
			}()
			<-gone
			assert.Equal(t, c.want, spans.lines(t))
		})
	}
}

// A batch of flows has spans for its instances only where items have.
func TestSpansInsideABatch(t *testing.T) {
	run := func(s telemetry.Spans) (names []string) {
		spans := collectSpans(t, s)
		inner := flow.New("inner", node.Do("step", func(context.Context, *int) error { return nil }))
		b := flow.Batch("outer", func(context.Context, node.None) (iter.Seq2[int, error], error) { return node.Slice([]int{1}), nil }, inner, nil)
		_, err := flow.Run[node.None](t.Context(), b, node.None{}, flow.WithObserver(spans))
		require.NoError(t, err)
		for _, s := range spans.Ended() {
			names = append(names, s.Name())
		}
		return names
	}
	assert.Equal(t, []string{"node outer"}, run(telemetry.Spans{}))
	assert.Equal(t, []string{"node step", "flow inner", "item outer", "node outer"}, run(telemetry.Spans{Items: true}))
}

// The trace goes on at the other side: what arrives there names the span of the request as its parent.
func TestTheTraceGoesOnAtTheServer(t *testing.T) {
	spans := collectSpans(t, telemetry.Spans{Items: true})
	var arrived atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived.Store(r.Header.Get("Traceparent")) }))
	defer server.Close()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: headrace.Transport(
		otelhttp.NewTransport(transport, otelhttp.WithTracerProvider(spans.provider), otelhttp.WithPropagators(propagation.TraceContext{})), "")}
	_, err := node.Map("ask", func(ctx context.Context, _ int) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			return 0, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return 0, err
	}).All(event.With(t.Context(), spans), []int{1})
	require.NoError(t, err)
	require.Len(t, spans.lines(t), 3)
	request, item := spans.Ended()[0], spans.Ended()[1]
	assert.Equal(t, "HTTP GET", request.Name())
	assert.Equal(t, item.SpanContext().SpanID(), request.Parent().SpanID())
	assert.Equal(t, fmt.Sprintf("00-%s-%s-01", request.SpanContext().TraceID(), request.SpanContext().SpanID()), arrived.Load())
}

// Model calls, as their body ends: whole, in a stream, refused for good, broken.
func TestModelCalls(t *testing.T) {
	const asked = " gen_ai.operation.name=chat gen_ai.provider.name=anthropic gen_ai.request.model=claude server.address=api.anthropic.com server.port=443 headrace.attempts=1"
	for name, c := range map[string]struct {
		status     int
		kind, body string
		err        error
		want       string
	}{
		"JSON": {
			200, "application/json", `{"model":"claude-1","content":"` + secret + `","usage":{"input_tokens":5,"cache_read_input_tokens":70,"output_tokens":8}}`, nil,
			"chat claude" + asked + " gen_ai.response.model=claude-1 gen_ai.usage.input_tokens=75 gen_ai.usage.output_tokens=8",
		},
		"a stream": {
			200, "text/event-stream", "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-1\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":8}}\n\n", nil,
			"chat claude" + asked + " gen_ai.response.model=claude-1 gen_ai.usage.input_tokens=5 gen_ai.usage.output_tokens=8",
		},
		"a status": {
			400, "application/json", `{"error":{"message":"` + secret + `"}}`, nil,
			"chat claude [Error 400]" + asked + " error.type=400",
		},
		"no answer": {
			0, "", "", &http.MaxBytesError{},
			"chat claude [Error *http.MaxBytesError]" + asked + " error.type=*http.MaxBytesError !exception exception.type=*http.MaxBytesError",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spans := collectSpans(t, telemetry.Spans{})
			limits, err := registry.New(registry.Config{})
			require.NoError(t, err)
			rt := headrace.Transport(tripper(func(req *http.Request) (*http.Response, error) {
				if c.err != nil {
					return nil, c.err
				}
				return &http.Response{
					StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, ContentLength: -1,
					Body: io.NopCloser(strings.NewReader(c.body)), Request: req,
				}, nil
			}), presets.AnthropicTier1, headrace.WithRegistry(limits),
				headrace.With(guard.Policy{Retry: &retry.Policy{MaxAttempts: 1}, Observer: spans}))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.anthropic.com/v1/messages?key="+secret, strings.NewReader(`{"model":"claude","messages":["`+secret+`"]}`))
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			assert.Equal(t, []string{c.want}, spans.lines(t))
		})
	}
}

// Limiters are reported while they are watched, with the progress of a run or by Watch.
func TestWhatLimitersDo(t *testing.T) {
	reader := metric.NewManualReader()
	o, err := telemetry.New(telemetry.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	require.NoError(t, err)
	inFlight := func() (found []int64) {
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &all))
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				if data, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "headrace.limiter.in_flight" {
					assert.False(t, data.IsMonotonic)
					for _, p := range data.DataPoints {
						found = append(found, p.Value)
					}
				}
			}
		}
		return found
	}
	l, err := guard.New(guard.Policy{Name: "l", Limits: throttle.Limits{Concurrency: 3}})
	require.NoError(t, err)
	stop := o.Watch(l)
	require.NoError(t, l.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
		assert.Equal(t, []int64{1}, inFlight())
		return nil
	}))
	assert.Equal(t, []int64{0}, inFlight())
	stop()
	assert.Empty(t, inFlight())

	looked := make(chan struct{})
	step := node.Do("step", func(context.Context, node.None) error { <-looked; return nil }).Within(l)
	var once atomic.Bool
	_, err = flow.Run(t.Context(), step, node.None{}, flow.WithObserver(o), flow.WithProgress(func(p event.Progress) {
		if len(p.Limiters) == 1 && p.Limiters[0].InFlight == 1 && !once.Swap(true) {
			assert.Equal(t, []int64{1}, inFlight())
			close(looked)
		}
	}, 10*time.Millisecond))
	require.NoError(t, err)
	assert.Empty(t, inFlight(), "the run is over")
}
