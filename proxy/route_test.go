package proxy_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/proxy"
)

// uris is an upstream that records what it is asked for.
func uris(t *testing.T, c proxy.Config) (p *proxy.Proxy, seen func() []string) {
	t.Helper()
	var all []string
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { all = append(all, r.Method+" "+r.RequestURI) }))
	t.Cleanup(up.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	c.Base = base
	c.Upstreams = map[string]proxy.Upstream{"up": {URL: up.URL}, "deep": {URL: up.URL + "/base/v2"}}
	p, err := proxy.New(c)
	require.NoError(t, err)
	return p, func() []string { up.Close(); return all }
}

func TestAPathIsPassedOnByteForByte(t *testing.T) {
	for path, want := range map[string]string{
		"/up":                            "/",
		"/up/":                           "/",
		"/up/v1/models":                  "/v1/models",
		"/up//v1//models/":               "//v1//models/",
		"/up/v1/a%2Fb%20c%2f":            "/v1/a%2Fb%20c%2f",
		"/up/v1beta/models/m:generate":   "/v1beta/models/m:generate",
		"/up/v1?a=1&a=2;b=%zz&c":         "/v1?a=1&a=2;b=%zz&c",
		"/up/v1?":                        "/v1?",
		"/up?x=//evil.test/":             "/?x=//evil.test/",
		"/up//evil.test/v1":              "//evil.test/v1",
		"/up/http://evil.test/":          "/http://evil.test/",
		"/up/%C3%A4/..%2e./x...":         "/%C3%A4/..%2e./x...",
		"/up/a@b:80/!$&'()*+,;=":         "/a@b:80/!$&'()*+,;=",
		"/c/me/up/v1":                    "/v1",
		"/c/me/t/0123456789abcdef/up/v1": "/v1",
		"/t/0123456789abcdef/c/me/up/v1": "/v1",
		"/deep/x":                        "/base/v2/x",
		"/deep":                          "/base/v2",
	} {
		p, seen := uris(t, proxy.Config{})
		got := raw(t, p, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1:8787\r\nConnection: close\r\n\r\n")
		assert.Equal(t, http.StatusOK, got.status, "%s: %s", path, got.body)
		assert.Equal(t, []string{"GET " + want}, seen(), path)
	}
}

func TestNoPathLeadsToAnotherHost(t *testing.T) {
	for line, want := range map[string]proxy.Code{
		"GET / HTTP/1.1":                                     proxy.CodeUpstream,
		"GET //evil.test/v1 HTTP/1.1":                        proxy.CodeUpstream,
		"GET /evil.test/v1 HTTP/1.1":                         proxy.CodeUpstream,
		"GET /UP/v1 HTTP/1.1":                                proxy.CodeUpstream,
		"GET /%75p/v1 HTTP/1.1":                              proxy.CodeUpstream,
		"GET /up@evil.test/v1 HTTP/1.1":                      proxy.CodeUpstream,
		"GET /c/me HTTP/1.1":                                 proxy.CodeUpstream,
		"GET /up/../admin HTTP/1.1":                          proxy.CodePath,
		"GET /up/.. HTTP/1.1":                                proxy.CodePath,
		"GET /up/. HTTP/1.1":                                 proxy.CodePath,
		"GET /up/%2e%2E/admin HTTP/1.1":                      proxy.CodePath,
		"GET /up/a%2f..%2fb HTTP/1.1":                        proxy.CodePath,
		"GET /up/a%5c..%5cb HTTP/1.1":                        proxy.CodePath,
		"GET /up/a\\..\\b HTTP/1.1":                          proxy.CodePath,
		"GET /up/a\"b HTTP/1.1":                              proxy.CodePath,
		"GET /up/a#b HTTP/1.1":                               proxy.CodePath,
		"GET /up/a?b#c HTTP/1.1":                             proxy.CodePath,
		"GET http://evil.test/up/v1 HTTP/1.1":                proxy.CodePath,
		"GET http://127.0.0.1:8787/up HTTP/1.1":              proxy.CodePath,
		"CONNECT evil.test:443 HTTP/1.1":                     proxy.CodePath,
		"OPTIONS * HTTP/1.1":                                 "",
		"GET /c/a%20b/up/v1 HTTP/1.1":                        proxy.CodeClient,
		"GET /c//up/v1 HTTP/1.1":                             proxy.CodeClient,
		"GET /c/" + strings.Repeat("a", 65) + "/up HTTP/1.1": proxy.CodeClient,
	} {
		p, seen := uris(t, proxy.Config{Hosts: []string{"evil.test"}})
		got := raw(t, p, line+"\r\nHost: 127.0.0.1:8787\r\nConnection: close\r\n\r\n")
		assert.Equal(t, string(want), got.header.Get("X-Headrace-Error"), "%s: %s", line, got.body)
		assert.Empty(t, seen(), line)
	}
}

func TestAnUnknownUpstreamIsNamed(t *testing.T) {
	p, _ := uris(t, proxy.Config{})
	got := raw(t, p, "GET /opnai/v1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

	assert.Equal(t, http.StatusNotFound, got.status)
	assert.Contains(t, got.body, "did you mean openai?")
	assert.Contains(t, got.body, "anthropic, ")
	assert.Contains(t, got.body, "--upstream NAME=URL")
}

func TestKnownUpstreamsHaveADialect(t *testing.T) {
	have := map[dialect.Name]bool{}
	for name, u := range proxy.Known() {
		d := dialect.ByHost(strings.TrimPrefix(u.URL, "https://"))
		assert.NotEqual(t, dialect.Auto, d, name)
		have[d] = true
	}
	own := map[dialect.Name]bool{ // each account has a host of its own, or it is no API
		dialect.Auto: true, dialect.IETF: true, dialect.Generic: true, dialect.Azure: true, dialect.Bedrock: true, dialect.Shopify: true, dialect.Nominatim: true,
	}
	for _, d := range dialect.Names() {
		assert.NotEqual(t, own[d], have[d], "%s: is it known, or does each account have a host of its own?", d)
	}
}

func TestProblemsOfAConfig(t *testing.T) {
	_, err := proxy.New(proxy.Config{
		Upstreams: map[string]proxy.Upstream{
			"x": {URL: "http://a"}, "a b": {URL: "http://a"}, "ftp": {URL: "ftp://a"}, "user": {URL: "http://me:hunter2@a"},
			"query": {URL: "http://a?b"}, "bad": {URL: "http://a:hunter2/%zz"}, "preset": {URL: "http://a", Preset: "unknown/none"},
		},
		MaxQueue: -1, MaxWait: -1, MaxBody: -1, Heartbeat: 1, Token: "short", Hosts: []string{"a:1"}, Origins: []string{"example.com"},
		Weights: map[string]float64{"a": 0}, Preset: "none",
	})

	for _, field := range []string{
		"Upstreams[x]", "Upstreams[a b]", "Upstreams[ftp].URL", "Upstreams[user].URL", "Upstreams[query].URL", "Upstreams[bad].URL",
		"Upstreams[preset].Preset", "MaxQueue", "MaxWait", "MaxBody", "Heartbeat", "Token", "Hosts", "Origins", "Weights[a]", "Preset",
	} {
		assert.ErrorContains(t, err, "proxy: "+field+": ")
	}
	assert.NotContains(t, err.Error(), "hunter2")
}

// A body that is longer than all the memory could never be sent.
func TestTheLongestMaxBody(t *testing.T) {
	_, err := proxy.New(proxy.Config{MaxBody: 1<<30 + 1})
	require.ErrorContains(t, err, "proxy: MaxBody: ")
	_, err = proxy.New(proxy.Config{MaxBody: 1 << 30})
	require.NoError(t, err)
}
