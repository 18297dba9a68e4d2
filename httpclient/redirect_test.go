package httpclient

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWalk(t *testing.T) {
	const from = "https://a.example/p/q?x=1"
	for _, tc := range []struct {
		name     string
		method   string
		body     string // "": none, "once", "again"
		status   int
		location string
		others   bool

		want    Rule
		at      string
		as      string
		carried bool // the body
		foreign bool
	}{
		{name: "301 of GET", method: "GET", status: 301, location: "/z", at: "https://a.example/z", as: "GET"},
		{name: "301 of POST", method: "POST", body: "once", status: 301, location: "/z", at: "https://a.example/z", as: "GET"},
		{name: "302 of POST", method: "POST", body: "again", status: 302, location: "/z", at: "https://a.example/z", as: "GET"},
		{name: "303 of POST", method: "POST", body: "once", status: 303, location: "/z", at: "https://a.example/z", as: "GET"},
		{name: "303 of PUT", method: "PUT", body: "once", status: 303, location: "/z", at: "https://a.example/z", as: "GET"},
		{name: "303 of DELETE", method: "DELETE", status: 303, location: "/z", at: "https://a.example/z", as: "GET"},
		{name: "303 of HEAD", method: "HEAD", status: 303, location: "/z", at: "https://a.example/z", as: "HEAD"},
		{name: "302 of HEAD", method: "HEAD", status: 302, location: "/z", at: "https://a.example/z", as: "HEAD"},
		{name: "301 of DELETE", method: "DELETE", status: 301, location: "/z", at: "https://a.example/z", as: "DELETE"},
		{name: "302 of PUT", method: "PUT", body: "again", status: 302, location: "/z", at: "https://a.example/z", as: "PUT", carried: true},
		{name: "302 of PUT, once", method: "PUT", body: "once", status: 302, location: "/z", want: RuleBody},
		{name: "307 of POST", method: "POST", body: "again", status: 307, location: "/z", at: "https://a.example/z", as: "POST", carried: true},
		{name: "308 of POST", method: "POST", body: "again", status: 308, location: "/z", at: "https://a.example/z", as: "POST", carried: true},
		{name: "307 of POST without a body", method: "POST", status: 307, location: "/z", at: "https://a.example/z", as: "POST"},
		{name: "307 of POST, once", method: "POST", body: "once", status: 307, location: "/z", want: RuleBody},
		{name: "307 of POST elsewhere", method: "POST", body: "again", status: 307, location: "https://b.example/", want: RuleBody},
		{
			name: "307 of POST elsewhere, if it may", method: "POST", body: "again", status: 307, location: "https://b.example/", others: true,
			at: "https://b.example/", as: "POST", carried: true, foreign: true,
		},
		{name: "308 elsewhere, once", method: "POST", body: "once", status: 308, location: "https://b.example/", others: true, want: RuleBody},
		{name: "303 of POST elsewhere", method: "POST", body: "once", status: 303, location: "https://b.example/", at: "https://b.example/", as: "GET", foreign: true},

		{name: "relative path", status: 302, location: "z", at: "https://a.example/p/z"},
		{name: "upwards", status: 302, location: "../../../z", at: "https://a.example/z"},
		{name: "only a query", status: 302, location: "?y=2", at: "https://a.example/p/q?y=2"},
		{name: "without a scheme", status: 302, location: "//b.example/z", at: "https://b.example/z", foreign: true},
		{name: "absolute", status: 302, location: "https://a.example/z", at: "https://a.example/z"},
		{name: "the default port", status: 302, location: "https://A.example:443/z", at: "https://A.example:443/z"},
		{name: "another port", status: 302, location: "https://a.example:8443/z", at: "https://a.example:8443/z", foreign: true},
		{name: "below", status: 302, location: "https://x.a.example/", at: "https://x.a.example/", foreign: true},
		{name: "above", status: 302, location: "https://example/", at: "https://example/", foreign: true},
		{name: "as a prefix", status: 302, location: "https://a.example.evil.example/", at: "https://a.example.evil.example/", foreign: true},
		{name: "no http", status: 302, location: "ftp://a.example/", at: "ftp://a.example/", foreign: true}, // the gate's to refuse
		{name: "userinfo", status: 302, location: "https://u:p@a.example/", at: "https://u:p@a.example/"},   // too

		{name: "downgrade", status: 302, location: "http://a.example/z", want: RuleDowngrade},
		{name: "downgrade elsewhere", status: 302, location: "http://b.example/z", want: RuleDowngrade},
		{name: "to itself", status: 302, location: from, want: RuleLoop},
		{name: "to itself by a fragment", status: 302, location: "#top", want: RuleLoop},
		{name: "POST to itself as GET", method: "POST", status: 303, location: from, at: from, as: "GET"},
		{name: "a secret elsewhere", status: 302, location: "https://b.example/?k=sesame%20open", want: RuleSecret},
		{name: "a secret elsewhere, plain", status: 302, location: "https://b.example/sesame+open", want: RuleSecret},
		{name: "a secret in the host", status: 302, location: "https://0123456789.example/", want: RuleSecret},
		{name: "a secret elsewhere, escaped twice", status: 302, location: "https://b.example/?k=%253012345678%2539", want: RuleSecret},
		{name: "a secret elsewhere, among broken escapes", status: 302, location: "https://b.example/?k=%2531%25zz%253012345678%2539%25", want: RuleSecret},
		{name: "a secret elsewhere, for all one knows", status: 302, location: "https://b.example/?k=%" + strings.Repeat("25", 9) + "41", want: RuleSecret},
		{name: "nested, and none", status: 302, location: "https://b.example/?u=https%253A%252F%252Fc.example%252F%25", at: "https://b.example/?u=https%253A%252F%252Fc.example%252F%25", foreign: true},
		{name: "a secret here", status: 302, location: "/?k=0123456789", at: "https://a.example/?k=0123456789"},
		{name: "too short for a secret", status: 302, location: "https://b.example/short", at: "https://b.example/short", foreign: true},
		{name: "no URL", status: 302, location: "https://%zz/", want: RuleLocation},
		{name: "a control character", status: 302, location: "/a\x7fb", want: RuleLocation},
		{name: "empty", status: 302, location: "", want: RuleLocation},
		{name: "too long", status: 302, location: "/" + strings.Repeat("a", 8000), want: RuleLocation},
		{name: "long", status: 302, location: "/" + strings.Repeat("a", 7999), at: "https://a.example/" + strings.Repeat("a", 7999)},
	} {
		u, err := url.Parse(from)
		require.NoError(t, err)
		if tc.method == "" {
			tc.method, tc.as = "GET", "GET"
		}
		w := newWalk(tc.method, u, tc.body != "", 1)
		refused := w.follow(answer{
			status: tc.status, locations: []string{tc.location}, secrets: []string{"sesame open", "0123456789", "short"},
			replays: tc.body == "again", others: tc.others,
		})
		if tc.want != "" {
			require.NotNil(t, refused, tc.name)
			assert.Equal(t, tc.want, refused.Rule, tc.name)
			continue
		}
		require.Nil(t, refused, tc.name)
		assert.Equal(t, []any{tc.at, tc.as, tc.carried, tc.foreign}, []any{w.at.String(), w.method, w.body, w.foreign}, tc.name)
	}
}

func TestWalkGoesOnBare(t *testing.T) {
	u, err := url.Parse("http://a.example/")
	require.NoError(t, err)
	w := newWalk("GET", u, false, 4)
	for _, tc := range []struct {
		location string
		foreign  bool
		want     Rule
	}{
		{"/1", false, ""},
		{"http://b.example/", true, ""},
		{"http://a.example/1", true, ""}, // no loop: it is not asked as before
		{"https://a.example/1", true, ""},
		{"https://a.example/2", true, RuleHops},
	} {
		refused := w.follow(answer{status: 302, locations: []string{tc.location}})
		assert.Equal(t, tc.foreign, w.foreign, tc.location)
		if tc.want != "" {
			require.NotNil(t, refused)
			assert.Equal(t, tc.want, refused.Rule)
			continue
		}
		require.Nil(t, refused, "%s: %v", tc.location, refused)
	}
	for _, locations := range [][]string{nil, {"/a", "/b"}} {
		refused := newWalk("GET", u, false, 1).follow(answer{status: 302, locations: locations})
		require.NotNil(t, refused)
		assert.Equal(t, RuleLocation, refused.Rule)
	}
}

// The list names the headers that are sent, so that an unexpected one is left out.
func TestBare(t *testing.T) {
	h := http.Header{}
	for _, name := range []string{
		"Authorization", "Proxy-Authorization", "Www-Authenticate", "Cookie", "Cookie2", "X-Api-Key", "Api-Key", "X-Goog-Api-Key",
		"X-Amz-Security-Token", "X-Auth-Token", "Openai-Organization", "Idempotency-Key", "Referer", "Origin", "X-Forwarded-For",
		"X-Anything", "If-None-Match", "accept", "Connection", "Upgrade",
		"Accept", "Range", "If-Range", "User-Agent", "Content-Type", "X-Correlation-Id",
	} {
		h[name] = []string{"v"}
	}
	got := bare(h)
	names := make([]string, 0, len(got))
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	assert.Equal(t, []string{"Accept", "Content-Type", "If-Range", "Range", "User-Agent", "X-Correlation-Id"}, names)
	withoutBody(h)
	assert.NotContains(t, h, "Content-Type")
}

// What net/http dials for a proxy, and no other spelling of it.
func TestProxyAddresses(t *testing.T) {
	all := map[string]*url.URL{}
	for _, proxy := range []string{"http://Proxy.example", "https://proxy.example", "socks5://p", "socks5h://[::1]", "http://10.0.0.1:3128"} {
		u, err := url.Parse(proxy)
		require.NoError(t, err)
		all[proxy] = u
	}
	assert.Equal(t, map[string]bool{
		"proxy.example:80": true, "proxy.example:443": true, "p:1080": true, "[::1]:1080": true, "10.0.0.1:3128": true,
	}, proxyAddresses(all))
}
