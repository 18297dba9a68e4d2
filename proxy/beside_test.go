package proxy_test

import (
	"bufio"
	"context"
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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
)

var beside = flag.Duration("beside", 0, "how long TestBesideReverseProxy measures; 0 skips it")

const chat = `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`

// ways are a plain ReverseProxy, a proxy, and a floor, before the same upstream. The
// floor is a ReverseProxy that does nothing of its own, with what a proxy has to have:
// the bounds of its server, a pool of buffers, and a RoundTripper between.
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
	rewrite := func(r *httputil.ProxyRequest) { r.SetURL(u) }
	plain := httptest.NewServer(&httputil.ReverseProxy{Rewrite: rewrite, Transport: base})
	tb.Cleanup(plain.Close)
	ours := before(tb, proxy.Config{Base: base, Upstreams: map[string]proxy.Upstream{"up": {URL: server.URL}}})
	floor := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: rewrite, Transport: passing{base}, BufferPool: &pooled{}})
	bounds := ours.proxy.Server()
	floor.Config.ReadHeaderTimeout, floor.Config.WriteTimeout, floor.Config.IdleTimeout = bounds.ReadHeaderTimeout, bounds.WriteTimeout, bounds.IdleTimeout
	floor.Start()
	tb.Cleanup(floor.Close)
	return map[string]string{"plain": plain.URL, "headrace": ours.url + "/up", "floor": floor.URL}
}

// passing does nothing.
type passing struct{ http.RoundTripper }

func (p passing) RoundTrip(r *http.Request) (*http.Response, error) {
	return p.RoundTripper.RoundTrip(r)
}

type pooled struct{ sync.Pool }

func (b *pooled) Get() []byte {
	if p, ok := b.Pool.Get().(*[32 << 10]byte); ok {
		return p[:]
	}
	return make([]byte, 32<<10)
}

func (b *pooled) Put(p []byte) { b.Pool.Put((*[32 << 10]byte)(p)) }

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

// sample is what a batch of requests has taken.
type sample struct{ p50, took time.Duration }

// batch sends requests by some clients at the same time. Only those of headrace must not fail: about one stream in 100,000
// of a plain ReverseProxy does.
func batch(tb testing.TB, c *http.Client, name, to string, clients, requests int) sample {
	tb.Helper()
	all := make([][]time.Duration, clients)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			for range requests / clients {
				at := time.Now()
				if err := post(c, to); err != nil {
					assert.NotEqual(tb, "headrace", name, err)
					tb.Logf("%s: a request failed: %v", name, err)
				}
				all[i] = append(all[i], time.Since(at))
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	sorted := slices.Concat(all...)
	slices.Sort(sorted)
	return sample{sorted[len(sorted)/2], took}
}

// TestBesideReverseProxy prints medians of the ratios to a plain ReverseProxy. The
// ways take turns, a batch of a few milliseconds each, and each goes first as often as
// the others: other work on the machine disturbs all of them. The quiet p50 is the 5th
// percentile of the p50s of all batches, those that it disturbs least.
func TestBesideReverseProxy(t *testing.T) {
	if *beside == 0 {
		t.Skip("-beside 10s measures")
	}
	to := ways(t)
	own := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
	defer own.CloseIdleConnections()
	c := &http.Client{Transport: own}
	names := [...]string{"plain", "headrace", "floor"}
	for _, of := range []struct {
		about, path       string
		clients, requests int
	}{{"one client", "/v1", 1, 30}, {"16 clients", "/v1", 16, 320}, {"streams, 4 clients", "/v1/stream", 4, 40}} {
		p50s, rates, all := map[string][]float64{}, map[string][]float64{}, map[string][]time.Duration{}
		began := time.Now()
		for pass := 0; time.Since(began) < *beside; pass++ {
			got := map[string]sample{}
			for i := range names {
				name := names[(i+pass)%len(names)]
				got[name] = batch(t, c, name, to[name]+of.path, of.clients, of.requests)
			}
			if pass < len(names) {
				continue // to warm up
			}
			for _, name := range names {
				all[name] = append(all[name], got[name].p50)
			}
			for _, name := range names[1:] {
				p50s[name] = append(p50s[name], float64(got[name].p50)/float64(got["plain"].p50))
				rates[name] = append(rates[name], float64(got["plain"].took)/float64(got[name].took))
			}
		}
		quiet := func(name string) float64 {
			slices.Sort(all[name])
			return float64(all[name][len(all[name])/20])
		}
		for _, name := range names[1:] {
			n := len(p50s[name])
			slices.Sort(p50s[name])
			slices.Sort(rates[name])
			t.Logf("%s, %s: p50 x%.3f (quartiles %.3f, %.3f), quiet x%.3f, requests/s x%.3f, %d passes",
				of.about, name, p50s[name][n/2], p50s[name][n/4], p50s[name][3*n/4], quiet(name)/quiet("plain"), rates[name][n/2], n)
		}
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

// answering is an upstream without a connection.
type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	h := http.Header{"Content-Type": {"application/json"}, "Date": {"now"}, "Content-Length": {strconv.Itoa(len(chat))}}
	return &http.Response{
		StatusCode: http.StatusOK, Header: h, ContentLength: int64(len(chat)), Body: io.NopCloser(strings.NewReader(chat)), Request: r,
	}, nil
}

// unread is a ResponseWriter for no connection.
type unread struct{ header http.Header }

func (u *unread) Header() http.Header              { return u.header }
func (u *unread) Write(p []byte) (int, error)      { return len(p), nil }
func (u *unread) WriteHeader(int)                  {}
func (u *unread) Flush()                           {}
func (u *unread) SetReadDeadline(time.Time) error  { return nil }
func (u *unread) SetWriteDeadline(time.Time) error { return nil }

// handlers are a plain ReverseProxy and a proxy without connections, and a function
// that sends a request through one.
func handlers(tb testing.TB) (plain, ours http.Handler, send func(http.Handler)) {
	tb.Helper()
	u, err := url.Parse("http://127.0.0.1:9999")
	require.NoError(tb, err)
	r, err := registry.New(registry.Config{})
	require.NoError(tb, err)
	p, err := proxy.New(proxy.Config{Base: answering{}, Registry: r, Upstreams: map[string]proxy.Upstream{"up": {URL: u.String()}}})
	require.NoError(tb, err)
	server := p.Server()
	const body = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
	ctx, cancel := context.WithCancel(context.WithValue(server.BaseContext(nil), http.ServerContextKey, server))
	tb.Cleanup(cancel)
	one := (&http.Request{
		Method: http.MethodPost, Host: "127.0.0.1:8787", RequestURI: "/up/v1", URL: &url.URL{Path: "/up/v1"}, ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer sk-0123456789abcdef"}, "User-Agent": {"test"}},
		ContentLength: int64(len(body)),
	}).WithContext(ctx)
	plain = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, Transport: answering{}, BufferPool: &pooled{}}
	return plain, p, func(h http.Handler) {
		one.Body = io.NopCloser(strings.NewReader(body))
		h.ServeHTTP(&unread{http.Header{}}, one)
	}
}

// BenchmarkHandler is what a request takes besides its connections.
func BenchmarkHandler(b *testing.B) {
	plain, ours, send := handlers(b)
	for name, h := range map[string]http.Handler{"plain": plain, "headrace": ours} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				send(h)
			}
		})
	}
}
