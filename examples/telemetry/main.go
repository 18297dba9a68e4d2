// Telemetry: the requests of a client as OpenTelemetry metrics.
//
// The program sends 50 chats to a provider on the loopback, which refuses two
// of them once, and prints what the SDK of OpenTelemetry has collected. A real
// program has an exporter where this one has a ManualReader; all else stays as
// it is.
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

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/telemetry"
	"github.com/headrace/headrace/throttle"
)

const (
	chats = 50
	chat  = `{"model":"gpt-4o-mini","messages":[{"role":"user","content":"What is a headrace?"}]}`
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer func() { err = errors.Join(err, provider.Shutdown(ctx)) }()

	observer, err := telemetry.New(telemetry.Config{MeterProvider: provider})
	if err != nil {
		return err
	}
	server, err := refusing(20, 40)
	if err != nil {
		return err
	}
	defer server.Close()
	client, err := newClient(observer)
	if err != nil {
		return err
	}
	defer client.Close()

	for range chats {
		if err := send(ctx, client, server.URL()+"/v1/chat/completions"); err != nil {
			return err
		}
	}
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		return err
	}
	return printTable(out, collected)
}

// newClient has one observer for the client and for the limiters.
func newClient(observer *telemetry.Observer) (*httpclient.Client, error) {
	limits, err := registry.New(registry.Config{
		Default: registry.Spec{Limits: throttle.Limits{Concurrency: 8}, Law: registry.Fixed},
	}, registry.WithObserver(observer))
	if err != nil {
		return nil, err
	}
	return httpclient.New(httpclient.Config{
		Service:  "openai",
		Observer: observer,
		Wrap: []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
			return headrace.Transport(next, "", headrace.WithRegistry(limits))
		}},
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
