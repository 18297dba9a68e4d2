package proxy_test

import (
	"bufio"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/proxy"
)

var beside = flag.Duration("beside", 0, "how long TestBesideReverseProxy measures; 0 skips it")

const chat = `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`

// ways are a proxy and a plain ReverseProxy before the same upstream.
func ways(tb testing.TB) map[string]string {
	tb.Helper()
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 50 {
				_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"`+strconv.Itoa(i)+`"}}]}`+"\n\n")
				_ = http.NewResponseController(w).Flush()
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, chat)
	})
	server := httptest.NewServer(up)
	tb.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(tb, err)
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = 128
	tb.Cleanup(base.CloseIdleConnections)
	plain := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, Transport: base})
	tb.Cleanup(plain.Close)
	ours := before(tb, proxy.Config{Base: base, Upstreams: map[string]proxy.Upstream{"up": {URL: server.URL}}})
	return map[string]string{"plain": plain.URL, "headrace": ours.url + "/up"}
}

// post sends a small chat and reads its answer.
func post(c *http.Client, to string) error {
	r, err := http.NewRequest(http.MethodPost, to, strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer sk-0123456789abcdef")
	resp, err := c.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, bufio.NewReader(resp.Body))
	return err
}

// TestBesideReverseProxy prints medians of the ratios to a plain ReverseProxy, of
// batches that take turns.
func TestBesideReverseProxy(t *testing.T) {
	if *beside == 0 {
		t.Skip("-beside 10s measures")
	}
	to := ways(t)
	own := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
	defer own.CloseIdleConnections()
	c := &http.Client{Transport: own}
	measure := func(path string, clients, requests int) (p50, took [2]time.Duration) {
		for i, way := range []string{"plain", "headrace"} {
			var mu sync.Mutex
			var all []time.Duration
			began := time.Now()
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					for range requests / clients {
						at := time.Now()
						if post(c, to[way]+path) != nil {
							t.Error("a request failed")
						}
						mu.Lock()
						all = append(all, time.Since(at))
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			took[i] = time.Since(began)
			slices.Sort(all)
			p50[i] = all[len(all)/2]
		}
		return p50, took
	}
	for _, c := range []struct {
		about, path       string
		clients, requests int
	}{{"one client", "/v1", 1, 100}, {"16 clients", "/v1", 16, 320}, {"streams, 4 clients", "/v1/stream", 4, 40}} {
		measure(c.path, c.clients, c.requests) // to warm up
		var p50s, rates []float64
		for began := time.Now(); time.Since(began) < *beside; {
			p50, took := measure(c.path, c.clients, c.requests)
			p50s = append(p50s, float64(p50[1])/float64(p50[0]))
			rates = append(rates, float64(took[0])/float64(took[1]))
		}
		slices.Sort(p50s)
		slices.Sort(rates)
		t.Logf("%s: p50 x%.3f, requests/s x%.3f (%d batches)", c.about, p50s[len(p50s)/2], rates[len(rates)/2], len(p50s))
	}
}

func BenchmarkRequest(b *testing.B) {
	own := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
	defer own.CloseIdleConnections()
	c := &http.Client{Transport: own}
	to := ways(b)
	for _, way := range []string{"plain", "headrace"} {
		b.Run(way, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := post(c, to[way]+"/v1"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
