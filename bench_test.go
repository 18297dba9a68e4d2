package headrace_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
)

const (
	benchRequest = `{"model":"gpt-4o-mini","messages":[{"role":"system","content":"You are terse."},` +
		`{"role":"user","content":"Name a mill by a river."}],"max_tokens":64}`
	benchAnswer = `{"id":"chatcmpl-1","object":"chat.completion","created":1760000000,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"The old mill at the bend of the river."},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":23,"completion_tokens":10,"total_tokens":33}}`
)

// chatBase answers a small chat at once.
func chatBase() http.RoundTripper {
	header := http.Header{
		"Content-Type": {"application/json"}, "X-Ratelimit-Limit-Requests": {"500"}, "X-Ratelimit-Remaining-Requests": {"499"},
		"X-Ratelimit-Reset-Requests": {"120ms"}, "X-Ratelimit-Limit-Tokens": {"30000000"}, "X-Ratelimit-Remaining-Tokens": {"29999900"},
		"X-Ratelimit-Reset-Tokens": {"1ms"}, "X-Request-Id": {"req_1"}, "Openai-Version": {"2020-10-01"},
	}
	return tripper(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		return &http.Response{
			StatusCode: http.StatusOK, Header: header, ContentLength: int64(len(benchAnswer)), Body: io.NopCloser(strings.NewReader(benchAnswer)),
		}, nil
	})
}

func benchLimiter(tb testing.TB) *guard.Guard {
	tb.Helper()
	l, err := guard.New(guard.Policy{Law: adaptive.AIMD{Initial: 1000, Max: 1000}})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// BenchmarkTransport is what the transport adds to a base that answers at once.
func BenchmarkTransport(b *testing.B) {
	for _, c := range []struct {
		name string
		rt   http.RoundTripper
	}{
		{"bare", chatBase()},
		{"transport", under(chatBase(), presets.OpenAITier5, benchLimiter(b))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "https://api.openai.com/v1/chat/completions", strings.NewReader(benchRequest))
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				resp, err := c.rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}
