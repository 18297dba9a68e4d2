//go:build !race

package headrace_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/presets"
)

// The race detector allocates on its own account. Two are the context of an attempt, which ends if its
// response does not begin: a request with a sooner deadline needs none.
func TestAllocations(t *testing.T) {
	tr := headrace.Transport(chatBase(), presets.OpenAITier5, headrace.WithRegistry(emptyRegistry(t)))
	layered := under(chatBase(), presets.OpenAITier5, benchLimiter(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := func(ctx context.Context, rt http.RoundTripper) float64 {
		return testing.AllocsPerRun(200, func() { chat(ctx, t, rt) })
	}
	bare := run(t.Context(), chatBase())
	assert.LessOrEqual(t, run(t.Context(), tr)-bare, 11.0)
	assert.LessOrEqual(t, run(t.Context(), layered)-bare, 12.0)
	assert.LessOrEqual(t, run(ctx, tr)-bare, 9.0)
}

// chat makes one small call.
func chat(ctx context.Context, tb testing.TB, rt http.RoundTripper) {
	tb.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.openai.com/v1/chat/completions", strings.NewReader(benchRequest))
	require.NoError(tb, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := rt.RoundTrip(req)
	require.NoError(tb, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}
