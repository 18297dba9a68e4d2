//go:build !otlp

package otlp_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/otlp"
)

// A build that sends nothing says so if a variable names a receiver.
func TestWarning(t *testing.T) {
	var logged bytes.Buffer
	e := otlp.Environment(func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}[name]
	})
	require.NoError(t, e.Check(slog.New(slog.NewTextHandler(&logged, nil))))
	assert.Contains(t, logged.String(), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, but this build cannot send OTLP")
	traces, err := e.Traces(t.Context())
	require.NoError(t, err)
	assert.Nil(t, traces)
}
