package httpclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
)

// A client that waits rate-limit responses out and sends the request again, a POST too.
func ExampleConfig_wrap() {
	refusals := 1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusals > 0 {
			refusals--
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()

	client, err := httpclient.New(httpclient.Config{
		Service: "echo",
		Wrap: []func(http.RoundTripper) http.RoundTripper{
			func(next http.RoundTripper) http.RoundTripper { return headrace.Transport(next, "") },
		},
		Observer: event.Func(func(e event.Event) { fmt.Println(e.Kind, e.Request.Status, "attempts:", e.Attempt) }),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, server.URL, strings.NewReader("hello"))
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
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output:
	// net.request 200 attempts: 2
	// hello <nil>
}

// Any round tripper that stores responses fits. A hit does not count as an attempt, and Wrap, which may hold a limiter, does
// not see it.
func ExampleConfig_cache() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		_, _ = io.WriteString(w, "models")
	}))
	defer server.Close()

	client, err := httpclient.New(httpclient.Config{
		Service: "catalogue",
		Cache:   remember, // func(next http.RoundTripper) http.RoundTripper
		Observer: event.Func(func(e event.Event) {
			fmt.Println(e.Request.Status, "attempts:", e.Attempt, "cached:", e.Request.Cached)
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	for range 2 {
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
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	// Output:
	// 200 attempts: 1 cached: false
	// 200 attempts: 0 cached: true
}
