// Telemetry: a flow as an OpenTelemetry trace, and as metrics.
//
// The program puts six questions to a provider on the loopback, which refuses
// one of them once, and prints the trace that the SDK of OpenTelemetry has
// collected as a tree, and the metrics as a table. A real program has exporters where this
// one has an InMemoryExporter and a ManualReader; all else stays as it is.
//
//	go run ./examples/telemetry
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/telemetry"
	"github.com/headrace/headrace/throttle"
)

const (
	questions = 6
	chat      = `{"model":"gpt-4o-mini","messages":[{"role":"user","content":"What is a headrace?"}]}`
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	reader, exporter := metric.NewManualReader(), tracetest.NewInMemoryExporter()
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	tracers := trace.NewTracerProvider(trace.WithSyncer(exporter))
	defer func() { err = errors.Join(err, meters.Shutdown(ctx), tracers.Shutdown(ctx)) }()

	observer, err := telemetry.New(telemetry.Config{
		MeterProvider: meters, TracerProvider: tracers, Spans: telemetry.Spans{Items: true, Attempts: true},
	})
	if err != nil {
		return err
	}
	server, err := refusing(3)
	if err != nil {
		return err
	}
	defer server.Close()
	client, err := newClient(otelhttp.WithMeterProvider(meters), otelhttp.WithTracerProvider(tracers))
	if err != nil {
		return err
	}
	defer client.Close()

	f := newFlow(func(ctx context.Context) error { return send(ctx, client, server.URL()+"/v1/chat/completions") })
	if _, err := flow.Run(ctx, f, &state{}, flow.WithObserver(observer)); err != nil {
		return err
	}
	printTree(out, exporter.GetSpans())
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		return err
	}
	return printTable(out, collected)
}

type state struct{ answered int }

// newFlow asks the questions one after the other, and counts the answers.
func newFlow(ask func(context.Context) error) *flow.Flow[*state] {
	asking := node.Each("ask",
		func(*state) []int { return make([]int, questions) },
		func(ctx context.Context, _ int) (int, error) { return 1, ask(ctx) },
		func(s *state, answers []int) { s.answered = len(answers) })
	counting := node.Do("count", func(_ context.Context, s *state) error {
		if s.answered != questions {
			return fmt.Errorf("%d of %d questions were answered", s.answered, questions)
		}
		return nil
	})
	return flow.New("interview", asking).Then(counting)
}

// newClient has otelhttp last, so that each attempt on the wire is a span.
func newClient(opts ...otelhttp.Option) (*httpclient.Client, error) {
	limits, err := registry.New(registry.Config{
		Default: registry.Spec{Limits: throttle.Limits{Concurrency: 8}, Law: registry.Fixed},
	})
	if err != nil {
		return nil, err
	}
	return httpclient.New(httpclient.Config{
		Service: "openai",
		Wrap: []func(http.RoundTripper) http.RoundTripper{
			func(next http.RoundTripper) http.RoundTripper {
				return headrace.Transport(next, "", headrace.WithRegistry(limits))
			},
			func(next http.RoundTripper) http.RoundTripper { return otelhttp.NewTransport(next, opts...) },
		},
	})
}

// refusing is a provider that refuses the arrivals of these numbers.
func refusing(numbers ...int64) (*providertest.Server, error) {
	var arrived atomic.Int64
	return providertest.New(providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		if !slices.Contains(numbers, arrived.Add(1)) {
			return nil
		}
		return &providertest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After-Ms": {"1"}}}
	}})
}

func send(ctx context.Context, client *httpclient.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(chat))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
