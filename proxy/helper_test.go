package proxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
)

// setup is a proxy over real HTTP, before one upstream named "up".
type setup struct {
	proxy *proxy.Proxy
	url   string
	http  *http.Client
}

// open starts a proxy with c before a handler.
func open(tb testing.TB, c proxy.Config, upstream http.Handler) *setup {
	tb.Helper()
	up := httptest.NewServer(upstream)
	tb.Cleanup(up.Close)
	if c.Upstreams == nil {
		c.Upstreams = map[string]proxy.Upstream{}
	}
	c.Upstreams["up"] = proxy.Upstream{URL: up.URL}
	return before(tb, c)
}

// before starts a proxy with c.
func before(tb testing.TB, c proxy.Config) *setup {
	tb.Helper()
	if c.Registry == nil {
		r, err := registry.New(registry.Config{})
		require.NoError(tb, err)
		c.Registry = r
	}
	if c.Base == nil {
		base := http.DefaultTransport.(*http.Transport).Clone()
		base.MaxIdleConnsPerHost = 128
		tb.Cleanup(base.CloseIdleConnections)
		c.Base = base
	}
	p, err := proxy.New(c)
	require.NoError(tb, err)
	l, err := p.Listen(tb.Context(), "127.0.0.1:0")
	require.NoError(tb, err)
	s := p.Server()
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(l) }()
	own := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
	tb.Cleanup(func() {
		own.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = p.Drain(ctx)
		_ = s.Close()
		<-served
	})
	return &setup{proxy: p, url: "http://" + l.Addr().String(), http: &http.Client{Transport: own, Timeout: 30 * time.Second}}
}

// reply is a whole answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request and reads its answer.
func (s *setup) do(tb testing.TB, r *http.Request) reply {
	tb.Helper()
	resp, err := s.http.Do(r)
	require.NoError(tb, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(tb, err)
	return reply{resp.StatusCode, resp.Header, string(b)}
}

// request makes a request; the headers are names and values in turn.
func (s *setup) request(tb testing.TB, method, path, body string, headers ...string) *http.Request {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(tb, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}
