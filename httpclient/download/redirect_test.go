package download

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/httpclient"
)

// A site redirects to a CDN, which breaks the connection once: the rest is asked for from there, without the credential.
func TestARedirectIsFollowed(t *testing.T) {
	body := content(1, 1000)
	var seen []http.Header
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header)
		w.Header().Set("ETag", `"a"`)
		if len(seen) == 1 {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(body[:600])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(body)))
	}))
	defer cdn.Close()
	site := httptest.NewServer(http.RedirectHandler(cdn.URL+"/?sig=canary", http.StatusFound))
	defer site.Close()
	gate := httpclient.Gate{Schemes: []string{"http"}, AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	for _, s := range []*httptest.Server{site, cdn} {
		gate.Ports = append(gate.Ports, netip.MustParseAddrPort(s.Listener.Addr().String()).Port())
	}
	try := func(strict bool) {
		client, err := httpclient.New(httpclient.Config{Gate: &gate, FailOnRedirect: strict})
		require.NoError(t, err)
		defer client.Close()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer me")
		target := filepath.Join(t.TempDir(), "f")

		r, err := doWith(client, req, target, quick(3))
		assert.Equal(t, 1, r.Attempts)
		assert.ErrorContains(t, err, "Client.Following", "the remedy")
		assert.NotContains(t, err.Error(), "canary")
		if strict {
			assert.ErrorIs(t, err, httpclient.CodeRedirect)
			return
		}
		assert.ErrorIs(t, err, httpclient.CodeStatus)

		r, err = doWith(client.Following(httpclient.Follow{}), req, target, quick(3))
		require.NoError(t, err)
		assert.Equal(t, 2, r.Attempts)
		assert.Len(t, r.Requests, 4, "each hop")
		got, err := os.ReadFile(target)
		require.NoError(t, err)
		assert.Equal(t, string(body), string(got))
		require.Len(t, seen, 2)
		assert.Equal(t, "bytes=599-", seen[1].Get("Range"))
		assert.Equal(t, `"a"`, seen[1].Get("If-Range"))
		for _, h := range seen {
			assert.Equal(t, "identity", h.Get("Accept-Encoding"))
			assert.Empty(t, h.Get("Authorization"))
		}
	}
	try(false)
	try(true)
}
