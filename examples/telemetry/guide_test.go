package main

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/telemetry"
	"github.com/headrace/headrace/throttle"
)

// What docs/telemetry.md shows is in these functions, which run.

func guideFlow(ctx context.Context, meters metric.MeterProvider, tracers trace.TracerProvider, f *flow.Flow[*state], s *state) error {
	observer, err := telemetry.New(telemetry.Config{MeterProvider: meters, TracerProvider: tracers})
	if err != nil {
		return err
	}
	_, err = flow.Run(ctx, f, s, flow.WithObserver(observer))
	return err
}

func guideBatch(ctx context.Context, observer *telemetry.Observer, ask *node.Batch[node.None, int, int], questions []int) ([]int, error) {
	outs, err := ask.All(event.With(ctx, observer), questions)
	return outs, err
}

func guideClient(observer *telemetry.Observer) *http.Client {
	client := &http.Client{Transport: headrace.Transport(nil, presets.OpenAITier1, headrace.With(guard.Policy{Observer: observer}))}
	return client
}

func guideItems(meters metric.MeterProvider, tracers trace.TracerProvider) (*telemetry.Observer, error) {
	observer, err := telemetry.New(telemetry.Config{
		MeterProvider: meters, TracerProvider: tracers,
		Spans: telemetry.Spans{Items: true, Attempts: true},
	})
	return observer, err
}

func guideWire() http.RoundTripper {
	limited := headrace.Transport(otelhttp.NewTransport(http.DefaultTransport), presets.OpenAITier1)
	return limited
}

func guideWatch(observer *telemetry.Observer, openai *guard.Guard) string {
	stop := observer.Watch(openai)
	defer stop()
	return openai.Stats().Why
}

func TestTheGuideRuns(t *testing.T) {
	asked := 0
	f := newFlow(func(context.Context) error { asked++; return nil })
	require.NoError(t, guideFlow(t.Context(), nil, nil, f, &state{}))
	assert.Equal(t, questions, asked)

	o, err := guideItems(nil, nil)
	require.NoError(t, err)
	outs, err := guideBatch(t.Context(), o, node.Map("ask", func(_ context.Context, i int) (int, error) { return i, nil }), []int{1, 2})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2}, outs)
	assert.NotNil(t, guideClient(o).Transport)
	assert.NotNil(t, guideWire())
	g, err := guard.New(guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
	require.NoError(t, err)
	assert.NotEmpty(t, guideWatch(o, g))
}

// Each block of Go in the guide is code of this file.
func TestTheGuideShowsWhatRuns(t *testing.T) {
	guide, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	own, err := os.ReadFile("guide_test.go")
	require.NoError(t, err)
	blocks := strings.Split(string(guide), "```go\n")[1:]
	require.Len(t, blocks, 6)
	for _, b := range blocks {
		b, _, _ = strings.Cut(b, "```")
		b = "\t" + strings.ReplaceAll(strings.TrimRight(b, "\n"), "\n", "\n\t") + "\n"
		assert.Contains(t, string(own), b)
	}
}
