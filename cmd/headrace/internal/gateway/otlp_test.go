//go:build otlp

package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/otlp"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/proxy"
)

// What the standard variables name receives metrics and spans, which have no key.
func TestOTLP(t *testing.T) {
	var mu sync.Mutex
	received := map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		received[r.URL.Path]++
	}))
	defer receiver.Close()
	t.Setenv(otlp.Endpoint, receiver.URL)
	provider, err := providertest.New(providertest.Config{})
	require.NoError(t, err)
	defer provider.Close()
	g, err := Open(t.Context(), Options{
		Proxy:   proxy.Config{Upstreams: map[string]proxy.Upstream{"openai": {URL: provider.URL()}}},
		Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Getenv: environment(map[string]string{otlp.Endpoint: receiver.URL}),
	})
	require.NoError(t, err)
	ask(t, g.Base(""))
	require.NoError(t, g.Close(context.Background()))
	http.DefaultTransport.(*http.Transport).CloseIdleConnections() //nolint:forcetypeassert // it is one
	mu.Lock()
	defer mu.Unlock()
	assert.Positive(t, received["/v1/metrics"])
	assert.Positive(t, received["/v1/traces"])

	_, err = Open(t.Context(), Options{Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Getenv: environment(map[string]string{
		otlp.Endpoint: receiver.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
	})})
	assert.ErrorContains(t, err, `OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported: use http/protobuf`)
}
