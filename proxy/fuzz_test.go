package proxy_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
)

// sent is a transport that records where requests go.
type sent struct{ requests []*http.Request }

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, r)
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// to returns a proxy before three upstreams of one host.
func (s *sent) to(tb testing.TB, c proxy.Config) *proxy.Proxy {
	tb.Helper()
	r, err := registry.New(registry.Config{})
	require.NoError(tb, err)
	c.Registry, c.Base = r, s
	c.Upstreams = map[string]proxy.Upstream{"up": {URL: "http://up.test"}, "deep": {URL: "http://up.test/base/v2"}, "openai": {URL: "http://up.test"}}
	p, err := proxy.New(c)
	require.NoError(tb, err)
	return p
}

// Whatever a request line says, what is sent goes to the upstream's host, below its
// path, with the bytes that followed its name.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"/up/v1", "/up/v1/a%2Fb?c=d;e&f", "//evil.test/up", "/up//evil.test", "/up/../x", "/deep/%2e%2e/x", "/deep/a%2f..%2fb", "/c/me/up/x",
		"/t/token/deep/x", "http://evil.test/up", "/up/\\evil", "/up/%", "/up/%zz", "/up?#", "/up/%00", "/deep/..;/x", "*", "/c/t/c/t/up", "/up/%25%32%65",
		"/deep/\u2025/x", "/up@evil.test/", "/up:80/", "/up/?", "/deep?", "/c//t//up",
	} {
		f.Add("GET", path)
	}
	f.Add("CONNECT", "evil.test:443")
	f.Fuzz(func(t *testing.T, method, target string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n")))
		if err != nil {
			return
		}
		var s sent
		p := s.to(t, proxy.Config{})
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if len(s.requests) == 0 {
			require.NotEmpty(t, w.Header().Get("X-Headrace-Error"), "%s", w.Body)
			require.GreaterOrEqual(t, w.Code, 400)
			return
		}
		require.Len(t, s.requests, 1)
		u := s.requests[0].URL
		require.Equal(t, "http", u.Scheme)
		if strings.HasPrefix(u.Host, "up.test") {
			require.Equal(t, "up.test", u.Host)
			require.Empty(t, s.requests[0].Host)
		}
		require.Nil(t, u.User)
		uri := u.RequestURI()
		require.True(t, strings.HasSuffix(r.RequestURI, strings.TrimPrefix(strings.TrimPrefix(uri, "/base/v2"), "/")), "%q of %q", uri, r.RequestURI)
		path, _, _ := strings.Cut(uri, "?")
		unescaped, err := url.PathUnescape(path)
		require.NoError(t, err)
		for part := range strings.FieldsFuncSeq(unescaped, func(c rune) bool { return c == '/' || c == '\\' }) {
			require.NotContains(t, []string{".", ".."}, part)
		}
	})
}

// Whatever headers say, those of the proxy and of the connection are not sent, and
// an answer of the proxy repeats nothing of them.
func FuzzHeaders(f *testing.F) {
	f.Add("Host", "localhost")
	f.Add("Origin", "http://localhost")
	f.Add("X-Headrace-Client", "me")
	f.Add("x-headrace-priority", "batch")
	f.Add("X-Headrace-Token", "0123456789abcdef")
	f.Add("Connection", "Authorization")
	f.Add("Transfer-Encoding", "chunked")
	f.Add("Content-Length", "7")
	f.Add("Upgrade", "h2c")
	f.Add("Idempotency-Key", "k")
	f.Add("Sec-Fetch-Site", "cross-site")
	f.Add("Cookie", "a=b")
	f.Add("Expect", "100-continue")
	f.Add("Authorization", "Bearer eyJh.eyJp.x")
	f.Add("Te", "trailers")
	f.Add("Connection", "Te, X-Headrace-Token")
	f.Fuzz(func(t *testing.T, name, value string) {
		const key = "sk-0123456789abcdef"
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(
			"POST /up/v1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + key + "\r\nContent-Length: 2\r\n" + name + ": " + value + "\r\n\r\n{}")))
		if err != nil {
			return
		}
		var s sent
		p := s.to(t, proxy.Config{})
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		require.NotContains(t, w.Body.String(), key)
		require.NotEmpty(t, w.Header().Get("X-Headrace-Waited"))
		for _, out := range s.requests {
			require.Equal(t, "up.test", out.URL.Host)
			require.Empty(t, out.Host)
			for name := range out.Header {
				require.False(t, strings.HasPrefix(name, "X-Headrace-"), name)
				require.NotContains(t, []string{"Cookie", "Origin", "Referer", "Expect", "Keep-Alive", "Proxy-Authorization"}, name)
			}
			require.Contains(t, []string{"", "trailers"}, out.Header.Get("Te"), "of the connection, but for what gRPC needs")
		}
		if len(s.requests) == 0 {
			require.NotEmpty(t, w.Header().Get("X-Headrace-Error"))
		}
	})
}
