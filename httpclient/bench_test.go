package httpclient_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
)

// BenchmarkRequest sends a small POST of JSON and reads the answer, over HTTP/1.1 with connections that are kept.
// The server runs in this process: what it allocates, two more for the header of the id among it, counts for all.
func BenchmarkRequest(b *testing.B) {
	question, answer := strings.Repeat("q", 300), []byte(strings.Repeat("a", 400))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	defer s.Close()
	ours := func(config httpclient.Config) *httpclient.Client {
		c, err := httpclient.New(config)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(c.Close)
		return c
	}
	bare := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second} // as http.DefaultTransport and for as many as ours
	defer bare.CloseIdleConnections()
	pass := func(next http.RoundTripper) http.RoundTripper { return tripper(next.RoundTrip) }
	for _, client := range []struct {
		name string
		do   func(*http.Request) (*http.Response, error)
	}{
		{"bare", (&http.Client{Transport: bare}).Do},
		{"client", ours(httpclient.Config{}).Do},
		{"observed", ours(httpclient.Config{Observer: event.Func(func(event.Event) {})}).Do},
		{"wrapped", ours(httpclient.Config{Wrap: []func(http.RoundTripper) http.RoundTripper{pass}}).Do},
	} {
		once := func() {
			req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.URL+"/v1/chat/completions", strings.NewReader(question))
			if err != nil {
				b.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer secret")
			resp, err := client.do(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		b.Run("sequential/"+client.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
		b.Run("parallel/"+client.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					once()
				}
			})
		})
	}
}
