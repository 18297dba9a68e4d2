package telemetry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/telemetry"
)

// With a provider of the SDK in place of this one, the requests of the client
// are metrics; examples/telemetry is such a program.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()

	observer, err := telemetry.New(telemetry.Config{MeterProvider: noop.NewMeterProvider()})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := httpclient.New(httpclient.Config{Observer: observer})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

func ExampleNew() {
	_, err := telemetry.New(telemetry.Config{MaxNames: -1})
	fmt.Println(err)
	// Output: telemetry: MaxNames: -1; want at least 1, or 0 for 100
}
