package proxy_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/proxy"
)

const token = "0123456789abcdef-ABCDEF_"

func TestWhoIsLetIn(t *testing.T) {
	tokened := proxy.Config{Token: token}
	paged := proxy.Config{Origins: []string{"https://app.example.com"}}
	hosted := proxy.Config{Hosts: []string{"Proxy.internal"}}
	for _, c := range []struct {
		config  proxy.Config
		request string // behind the first line
		want    proxy.Code
	}{
		{request: "Host: localhost"},
		{request: "Host: LOCALHOST:1"},
		{request: "Host: 127.0.0.1:8787"},
		{request: "Host: [::1]:8787"},
		{request: "Host: [::1]"},
		{request: "Host: evil.test", want: proxy.CodeHost},
		{request: "Host: evil.test:8787", want: proxy.CodeHost},
		{request: "Host: localhost.evil.test", want: proxy.CodeHost},
		{request: "Host: 127.0.0.1.evil.test", want: proxy.CodeHost},
		{request: "Host: 10.0.0.7"}, // an address is not a name that can be rebound
		{request: "Host: evil.test:8787:1", want: proxy.CodeHost},
		{request: "Host: evil.test\r\nX-Forwarded-Host: localhost", want: proxy.CodeHost},
		{request: "Host:", want: proxy.CodeHost},
		{config: hosted, request: "Host: proxy.internal:80"},
		{config: hosted, request: "Host: localhost"},

		{request: "Host: localhost\r\nOrigin: https://evil.test", want: proxy.CodeOrigin},
		{request: "Host: localhost\r\nOrigin: null", want: proxy.CodeOrigin},
		{request: "Host: localhost\r\nOrigin: http://localhost:3000", want: proxy.CodeOrigin},
		{request: "Host: localhost:3000\r\nOrigin: http://localhost:3000"},
		{request: "Host: localhost\r\nSec-Fetch-Site: cross-site", want: proxy.CodeOrigin},
		{request: "Host: localhost\r\nSec-Fetch-Site: none"},
		{config: paged, request: "Host: localhost\r\nOrigin: https://app.example.com"},
		{config: paged, request: "Host: localhost\r\nOrigin: http://app.example.com", want: proxy.CodeOrigin},
		{config: paged, request: "Host: localhost\r\nOrigin: https://app.example.com\r\nOrigin: https://evil.test", want: proxy.CodeOrigin},
		{config: paged, request: "Host: evil.test\r\nOrigin: https://app.example.com", want: proxy.CodeHost},

		{config: tokened, request: "Host: localhost", want: proxy.CodeToken},
		{config: tokened, request: "Host: localhost\r\nX-Headrace-Token: " + token},
		{config: tokened, request: "Host: localhost\r\nX-Headrace-Token: " + token + "x", want: proxy.CodeToken},
		{config: tokened, request: "Host: localhost\r\nX-Headrace-Token: a\r\nX-Headrace-Token: " + token, want: proxy.CodeToken},
		{config: tokened, request: "Host: evil.test\r\nX-Headrace-Token: " + token, want: proxy.CodeHost},
	} {
		p, seen := uris(t, c.config)
		got := raw(t, p, "GET /up/v1 HTTP/1.1\r\n"+c.request+"\r\nConnection: close\r\n\r\n")
		assert.Equal(t, string(c.want), got.header.Get("X-Headrace-Error"), "%q: %s", c.request, got.body)
		assert.Equal(t, c.want == "", len(seen()) == 1, "%q", c.request)
	}
}

func TestATokenInThePath(t *testing.T) {
	for path, want := range map[string]proxy.Code{
		"/t/" + token + "/up/v1":      "",
		"/t/" + token + "/c/me/up/v1": "",
		"/t/wrong/up/v1":              proxy.CodeToken,
		"/t//up/v1":                   proxy.CodeToken,
		"/t/wrong/nothing":            proxy.CodeToken, // which upstreams there are is not said before
	} {
		p, _ := uris(t, proxy.Config{Token: token})
		got := raw(t, p, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		assert.Equal(t, string(want), got.header.Get("X-Headrace-Error"), path)
	}
}

func TestAPreflightIsAnsweredForAllowedPages(t *testing.T) {
	p, seen := uris(t, proxy.Config{Origins: []string{"https://app.example.com"}, Token: token})
	ask := func(origin string) reply {
		return raw(t, p, "OPTIONS /up/v1 HTTP/1.1\r\nHost: localhost\r\nOrigin: "+origin+
			"\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\nConnection: close\r\n\r\n")
	}
	allowed, foreign := ask("https://app.example.com"), ask("https://evil.test")

	assert.Equal(t, http.StatusNoContent, allowed.status)
	assert.Equal(t, "https://app.example.com", allowed.header.Get("Access-Control-Allow-Origin"))
	assert.Equal(t, "authorization", allowed.header.Get("Access-Control-Allow-Headers"))
	assert.Equal(t, http.StatusForbidden, foreign.status)
	assert.Empty(t, foreign.header.Get("Access-Control-Allow-Origin"))
	assert.Empty(t, seen())
}

func TestListenIsForTheLoopbackInterface(t *testing.T) {
	plain := proxy.Config{}
	for _, c := range []struct {
		config  proxy.Config
		address string
		ok      bool
	}{
		{plain, "127.0.0.1:0", true},
		{plain, "localhost:0", true},
		{plain, "[::1]:0", true},
		{plain, ":0", false},
		{plain, "0.0.0.0:0", false},
		{plain, "[::]:0", false},
		{plain, "192.0.2.1:0", false},
		{plain, "example.com:0", false},
		{plain, "127.0.0.1", false},
		{proxy.Config{TLS: &tls.Config{MinVersion: tls.VersionTLS13}}, "0.0.0.0:0", false},
		{proxy.Config{TLS: &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.VerifyClientCertIfGiven}}, "0.0.0.0:0", false},
		{proxy.Config{TLS: &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert}}, "127.0.0.1:0", true},
		{proxy.Config{Token: token}, "127.0.0.1:0", true},
	} {
		p, err := proxy.New(c.config)
		require.NoError(t, err)
		l, err := p.Listen(t.Context(), c.address)
		if !c.ok {
			var problem *fault.FieldError
			assert.True(t, errors.As(err, &problem), "%s: %v", c.address, err)
			continue
		}
		if err != nil && c.address == "[::1]:0" { // no IPv6 here
			continue
		}
		require.NoError(t, err, c.address)
		_ = l.Close()
	}
}
