//go:build otlp

package command_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
	"github.com/headrace/headrace/cmd/headrace/internal/otlp"
)

// headrace serve sends its spans to the receiver that the standard variables name, the last ones when it ends.
func TestServeSendsSpans(t *testing.T) {
	received := make(chan string, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- r.URL.Path + " " + string(body)
	}))
	defer receiver.Close()
	t.Setenv(otlp.Endpoint, receiver.URL) // the exporter reads it
	limits := filepath.Join(t.TempDir(), "limits.yaml")
	require.NoError(t, os.WriteFile(limits, []byte("{}"), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	p := &command.Program{
		Args: []string{"serve", "--config", limits, "--addr", "127.0.0.1:0"}, Getenv: os.Getenv, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: write,
	}
	ended := make(chan int, 1)
	go func() {
		ended <- p.Main(ctx)
		_ = write.Close()
	}()
	line := make([]byte, 1<<10)
	n, err := read.Read(line)
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, read) }()
	url := regexp.MustCompile(`http://\S+/check`).FindString(string(line[:n]))
	answer, err := http.Post(url, "application/json", strings.NewReader(`{"identifier":"alice","resource":"search"}`))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusOK, answer.StatusCode)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections() //nolint:forcetypeassert // it is one
	stop()
	assert.Zero(t, <-ended)
	close(received)
	sent := <-received
	assert.True(t, strings.HasPrefix(sent, "/v1/traces "), sent)
	assert.Contains(t, sent, "POST /v1/ratelimit/check")
	assert.NotContains(t, sent, "alice")
	assert.Empty(t, received, "metrics are not sent: /metrics has them")
}
