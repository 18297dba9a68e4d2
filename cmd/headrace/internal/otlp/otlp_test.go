package otlp_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/otlp"
)

// Without a variable that names a receiver, and with OTEL_SDK_DISABLED, nothing is sent and nothing is logged.
func TestOffByDefault(t *testing.T) {
	for _, set := range []map[string]string{nil, {"OTEL_SERVICE_NAME": "limits"}, {otlp.Endpoint: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}} {
		var logged bytes.Buffer
		e := otlp.Environment(func(name string) string { return set[name] })
		require.NoError(t, e.Check(slog.New(slog.NewTextHandler(&logged, nil))))
		assert.Empty(t, logged.String())
		traces, err := e.Traces(t.Context())
		require.NoError(t, err)
		assert.Nil(t, traces)
		metrics, err := e.Metrics(t.Context())
		require.NoError(t, err)
		assert.Nil(t, metrics)
	}
	traces, err := otlp.Environment(nil).Traces(t.Context())
	require.NoError(t, err)
	assert.Nil(t, traces)
}
