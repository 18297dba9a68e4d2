package headrace_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/throttle"
)

// The first request is refused. The caller does not notice.
func ExampleTransport() {
	refusals := 1
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refusals--; refusals >= 0 {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer provider.Close()

	client := &http.Client{Transport: headrace.Transport(nil, presets.OpenAITier1)}
	defer client.CloseIdleConnections()
	resp, err := client.Post(provider.URL, "application/json", strings.NewReader(`{"model":"gpt-4o-mini"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

// A stream is passed on while it comes. It holds its place with the limiter until it is closed.
func ExampleTransport_stream() {
	provider, err := providertest.New(providertest.Config{Reply: func(providertest.Request) string { return "down to the mill" }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()

	client := &http.Client{Transport: headrace.Transport(provider.Transport(), presets.AnthropicStart)}
	resp, err := client.Post("https://api.anthropic.com/v1/messages", "application/json", strings.NewReader(
		`{"model":"claude-sonnet-5","max_tokens":40,"stream":true,"messages":[{"role":"user","content":"Where to?"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if _, text, ok := strings.Cut(lines.Text(), `"delta":{"text":`); ok {
			text, _, _ = strings.Cut(text, ",")
			fmt.Println(text)
		}
	}
	// Output:
	// "down "
	// "to "
	// "the "
	// "mill"
}

// A guard of your own holds for every request, whatever its model and key.
func ExampleWithin() {
	provider, err := providertest.New(providertest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()
	mine, err := guard.New(guard.Policy{Name: "mine", Limits: throttle.Limits{Concurrency: 2}})
	if err != nil {
		fmt.Println(err)
		return
	}

	client := &http.Client{Transport: headrace.Transport(provider.Transport(), presets.OpenAITier1, headrace.Within(mine))}
	for range 3 {
		resp, err := client.Post("https://api.openai.com/v1/embeddings", "application/json",
			strings.NewReader(`{"model":"text-embedding-3-small","input":"a mill"}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
	}
	fmt.Println(mine.Stats().Admitted)
	// Output: 3
}

// A body from a pipe is sent again after a 429 if at most as much of it was sent as is kept.
func ExampleWithResend() {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if calls++; calls == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = fmt.Fprintf(w, "%s, in call %d", body, calls)
	}))
	defer server.Close()

	client := &http.Client{Transport: headrace.Transport(nil, "", headrace.WithResend(1<<20))} // 1 MiB
	body, upload := io.Pipe()
	go func() {
		_, _ = io.WriteString(upload, "a log")
		_ = upload.Close()
	}()
	resp, err := client.Post(server.URL, "text/plain", body)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	fmt.Println(string(said), err)
	// Output: a log, in call 2 <nil>
}
