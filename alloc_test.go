//go:build !race

package headrace_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/presets"
)

// The race detector allocates on its own account. Two are the context of an attempt, which ends if its
// response does not begin.
func TestAllocations(t *testing.T) {
	tr := headrace.Transport(chatBase(), presets.OpenAITier5, headrace.WithRegistry(emptyRegistry(t)))
	layered := under(chatBase(), presets.OpenAITier5, benchLimiter(t))
	run := func(rt http.RoundTripper) float64 {
		return testing.AllocsPerRun(200, func() { chat(t, rt) })
	}
	bare := run(chatBase())
	assert.LessOrEqual(t, run(tr)-bare, 14.0)
	assert.LessOrEqual(t, run(layered)-bare, 15.0)
}

// chat makes one small call.
func chat(tb testing.TB, rt http.RoundTripper) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, "https://api.openai.com/v1/chat/completions", strings.NewReader(benchRequest))
	require.NoError(tb, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := rt.RoundTrip(req)
	require.NoError(tb, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}
