package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/proxy"
)

func TestWhatIsNotSentUpstream(t *testing.T) {
	var got http.Header
	var host string
	s := open(t, proxy.Config{Token: token}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, host = r.Header, r.Host }))
	r := s.request(t, http.MethodPost, "/c/me/up/v1", `{}`,
		"X-Headrace-Token", token, "X-Headrace-Client", "me", "X-Headrace-Priority", "batch", "X-Headrace-Other", "x",
		"X-Forwarded-For", "10.0.0.1", "X-Forwarded-Host", "evil.test", "Forwarded", "for=10.0.0.1", "X-Real-Ip", "10.0.0.1",
		"Cookie", "session=1", "Referer", "http://localhost/", "Connection", "X-Own", "X-Own", "1", "Keep-Alive", "5", "Te", "gzip",
		"Proxy-Authorization", "Basic x", "Accept-Encoding", "br, zstd",
		"Authorization", "Bearer k", "X-Stainless-Retry-Count", "1", "Anthropic-Version", "2023-06-01", "User-Agent", "sdk/1")
	assert.Equal(t, http.StatusOK, s.do(t, r).status)

	got.Del("Content-Length")
	assert.Equal(t, http.Header{
		"Accept-Encoding": {"gzip"}, "Authorization": {"Bearer k"}, "X-Stainless-Retry-Count": {"1"}, "Anthropic-Version": {"2023-06-01"},
		"User-Agent": {"sdk/1"}, "Content-Type": {"application/json"},
	}, got)
	assert.True(t, strings.HasPrefix(host, "127.0.0.1:"), host)
	assert.NotEqual(t, strings.TrimPrefix(s.url, "http://"), host)
}

func TestWhatIsNotReturned(t *testing.T) {
	s := open(t, proxy.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{
			"Set-Cookie", "X-Api-Key", "Authorization", "Alt-Svc", "Strict-Transport-Security", "Clear-Site-Data",
			"X-Headrace-Error", "X-Headrace-Waited", "Access-Control-Allow-Origin", "Proxy-Authenticate",
		} {
			w.Header().Set(name, "upstream")
		}
		w.Header().Set("X-Echo", "key was "+strings.TrimPrefix(r.Header.Get("X-Api-Key"), ""))
		w.Header().Set("X-Request-Id", "req_1")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"as it is"}`)
	}))
	got := s.do(t, s.request(t, http.MethodPost, "/up/v1", `{}`, "X-Api-Key", "sk-canary"))

	for name, values := range got.header {
		assert.NotContains(t, values, "upstream", name)
	}
	assert.Empty(t, got.header.Get("X-Echo"))
	assert.Equal(t, "req_1", got.header.Get("X-Request-Id"))
	assert.Equal(t, "7", got.header.Get("Retry-After"))
	assert.Equal(t, http.StatusBadRequest, got.status)
	assert.Equal(t, `{"error":"as it is"}`, got.body)
}

func TestARedirectLeadsBackToTheUpstream(t *testing.T) {
	var to string
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", strings.ReplaceAll(to, "HOST", r.Host))
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	s := open(t, proxy.Config{}, up)
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for location, want := range map[string]string{
		"/v1/other%2Fx?a=b":     "/c/me/up/v1/other%2Fx?a=b",
		"http://HOST/v1":        "/c/me/up/v1",
		"http://elsewhere/v1":   "http://elsewhere/v1",
		"https://HOST/v1":       "https://HOST/v1",
		"//elsewhere/v1":        "//elsewhere/v1",
		"other":                 "other",
		"http://a:b@elsewhere/": "http://a:b@elsewhere/",
	} {
		to = location
		got := s.do(t, s.request(t, http.MethodGet, "/c/me/up/v1", "")).header.Get("Location")
		if strings.HasPrefix(want, "https://HOST") {
			assert.True(t, strings.HasPrefix(got, "https://127.0.0.1:"), got)
			continue
		}
		assert.Equal(t, want, got, location)
	}
}

// A key and a token that pass through every way that a request can go are in
// nothing that the proxy writes, but in the requests to the upstream.
func TestNoSecretIsWritten(t *testing.T) {
	const key, inQuery, inBody = "sk-canary-header-0001", "canary-query-0002", "canary-body-0003"
	var log bytes.Buffer
	var mu sync.Mutex
	logger := slog.New(slog.NewTextHandler(&lockedWriter{to: &log, mu: &mu}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var calls atomic.Int64 // a handler that panics ends without a write
	c := proxy.Config{Observer: event.Slog(logger), Token: token, Policy: once, Upstreams: map[string]proxy.Upstream{
		"dead": {URL: "http://127.0.0.1:1"},
	}}
	s := open(t, c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("X-Query", r.URL.Query().Get("api_key"))
		switch calls.Add(1) % 4 {
		case 0:
			w.WriteHeader(http.StatusTooManyRequests)
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			panic(http.ErrAbortHandler)
		}
	}))
	out := &strings.Builder{}
	for _, path := range []string{"/up/v1", "/dead/v1", "/unknown/v1", "/up/../x", "/c/ /up", "/t/" + token + "x/up"} {
		for _, headers := range [][]string{
			{"X-Headrace-Token", token, "Authorization", "Bearer " + key},
			{"X-Headrace-Token", token, "X-Api-Key", key, "Idempotency-Key", key + "i"},
			{"X-Headrace-Token", token, "X-Headrace-Client", "a " + key},
			{"X-Headrace-Token", token, "X-Headrace-Priority", key},
			{"X-Headrace-Token", token + key},
			{"X-Headrace-Token", token, "Origin", "http://" + key + ".test"},
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(`{"text":"`+inBody+`"}`))
			require.NoError(t, err)
			r.URL.Opaque = strings.ReplaceAll(path, " ", "%20") + "?api_key=" + inQuery
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			resp, err := s.http.Do(r)
			if err != nil {
				continue // the upstream has broken off
			}
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			_ = resp.Header.Write(out)
			out.Write(b)
		}
	}
	fmt.Fprintf(out, "%+v", s.proxy.Stats())
	mu.Lock()
	out.Write(log.Bytes())
	mu.Unlock()
	for _, secret := range []string{key, inQuery, inBody, token} {
		assert.NotContains(t, out.String(), secret)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
