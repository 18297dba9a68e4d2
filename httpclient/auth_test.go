package httpclient_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/httpclient"
)

func TestSigners(t *testing.T) {
	key := httpclient.NewSecret("k")
	broken := errors.New("no vault")
	for _, tc := range []struct {
		name   string
		sign   func(*http.Request) error
		header string
		want   string
		err    string
	}{
		{name: "bearer", sign: httpclient.Bearer(key), header: "Authorization", want: "Bearer k"},
		{name: "header", sign: httpclient.HeaderAuth("x-api-key", key), header: "X-Api-Key", want: "k"},
		{name: "inner space", sign: httpclient.HeaderAuth("authorization", httpclient.NewSecret("Basic x")), header: "Authorization", want: "Basic x"},
		{name: "none", sign: httpclient.Bearer(httpclient.Secret{}), err: "the secret is empty"},
		{name: "no header", sign: httpclient.HeaderAuth("x y", key), err: `"x..." is not a header name`},
		{name: "a whole line", sign: httpclient.HeaderAuth("X-Key: "+canary, key), err: `"X-Key..." is not a header name`},
		{name: "no name", sign: httpclient.HeaderAuth("", key), err: `"" is not a header name`},
		{name: "a header of net/http", sign: httpclient.HeaderAuth("host", key), err: `"host" is not a header for a secret`},
		{name: "a header that errors show", sign: httpclient.HeaderAuth("X-Correlation-Id", key), err: "is not a header for a secret"},
		{name: "broken", sign: httpclient.Bearer(httpclient.SecretFunc(func() (string, error) { return "", broken })), err: "no vault"},
		{name: "line break at its end", sign: httpclient.Bearer(httpclient.NewSecret(canary + "\n")), err: "begins or ends with white space"},
		{name: "line break inside", sign: httpclient.Bearer(httpclient.NewSecret(canary + "\r\nX: y")), err: "control character"},
		{name: "empty", sign: httpclient.Bearer(httpclient.SecretFunc(func() (string, error) { return "", nil })), err: "is empty"},
	} {
		for _, header := range []http.Header{nil, {"Authorization": {"old"}}} {
			req := &http.Request{URL: &url.URL{Scheme: "https", Host: "h"}, Header: header.Clone()}
			err := tc.sign(req)
			if tc.err != "" {
				assert.ErrorContains(t, err, tc.err, tc.name)
				noCanary(t, err)
				assert.Equal(t, header, req.Header, tc.name)
				continue
			}
			require.NoError(t, err, tc.name)
			assert.Equal(t, []string{tc.want}, req.Header[tc.header], tc.name)
		}
	}
}

func TestOnlyTo(t *testing.T) {
	for _, tc := range []struct {
		base, to string
		want     bool
	}{
		{"https://api.example.com/v1", "https://api.example.com/other", true},
		{"https://api.example.com", "https://API.example.com.:443/", true},
		{"HTTP://api.example.com", "http://api.example.com:80", true},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080/x", true},
		{"http://[::1]:8080", "http://[::1]:8080/x", true},
		{"https://api.example.com", "http://api.example.com", false},
		{"https://api.example.com", "http://api.example.com:443", false},
		{"https://api.example.com", "https://api.example.com:8443", false},
		{"https://api.example.com", "https://example.com", false},
		{"https://api.example.com", "https://api.example.com.evil.org", false},
		{"https://api.example.com", "https://evil.org/?https://api.example.com", false},
		{"https://api.example.com", "https://api.example.com@evil.org/", false},
	} {
		to, err := url.Parse(tc.to)
		require.NoError(t, err)
		req := &http.Request{URL: to}
		require.NoError(t, httpclient.OnlyTo(tc.base, httpclient.Bearer(httpclient.NewSecret("k")))(req))
		assert.Equal(t, tc.want, req.Header.Get("Authorization") != "", "%s %s", tc.base, tc.to)
	}
	for _, base := range []string{"", "api.example.com", "/v1", "http://%zz" + canary, "https:///x"} {
		req := &http.Request{URL: &url.URL{Scheme: "https", Host: ""}}
		err := httpclient.OnlyTo(base, httpclient.Bearer(httpclient.NewSecret("k")))(req)
		assert.ErrorContains(t, err, "OnlyTo: base is not a URL", base)
		assert.Empty(t, req.Header)
		noCanary(t, err)
	}
}

// What something else sends through the same client is not signed.
func TestOnlyToInAClient(t *testing.T) {
	seen := func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Header.Get("Authorization"))) }
	mine, other := serve(t, seen), serve(t, seen)
	c := newClient(t, func(c *httpclient.Config) {
		c.Sign = httpclient.OnlyTo(mine.URL, httpclient.Bearer(httpclient.NewSecret("k")))
	})
	assert.Equal(t, "Bearer k", do(t, c, request(t, "GET", mine.URL, nil)))
	assert.Empty(t, do(t, c, request(t, "GET", other.URL, nil)))
}
