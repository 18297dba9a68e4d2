package proxy_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/pipenet"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
)

// deaf is a connection that can lose all that is written, as if its other end was gone.
type deaf struct {
	net.Conn

	lost *atomic.Bool
}

func (d deaf) Write(p []byte) (int, error) {
	if d.lost.Load() {
		return len(p), nil
	}
	return d.Conn.Write(p)
}

// A connection over HTTP/2 that is dead, and not closed, fails the requests that wait for it, and no others.
func TestADeadConnectionOverHTTP2(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		up := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(r.Proto))
		}), Protocols: protocols}
		served := make(chan struct{})
		go func() { defer close(served); _ = up.Serve(l) }()
		base := proxy.NewBase()
		base.Proxy, base.Protocols = nil, protocols
		var latest *atomic.Bool // of the last connection
		base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			latest = new(atomic.Bool)
			c, err := l.Dial(ctx, network, address)
			return deaf{c, latest}, err
		}
		r, err := registry.New(registry.Config{})
		require.NoError(t, err)
		p, err := proxy.New(proxy.Config{Registry: r, Base: base, Upstreams: map[string]proxy.Upstream{"up": {URL: "http://up.example"}}})
		require.NoError(t, err)
		post := func() *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/up/v1", strings.NewReader("{}"))
			r.Host = "127.0.0.1"
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			return w
		}
		require.Equal(t, "HTTP/2.0", post().Body.String())
		latest.Store(true)
		began := time.Now()
		assert.Equal(t, string(proxy.CodeUnreachable), post().Header().Get("X-Headrace-Error"))
		assert.Equal(t, 20*time.Second, time.Since(began))
		assert.Equal(t, "HTTP/2.0", post().Body.String(), "it has another connection")
		assert.NoError(t, p.Drain(t.Context()))
		base.CloseIdleConnections()
		require.NoError(t, up.Close())
		<-served
	})
}
