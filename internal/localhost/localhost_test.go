package localhost_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/localhost"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCheckAddress(t *testing.T) {
	for _, at := range []string{"127.0.0.1:80", "127.8.7.6:0", "[::1]:8787", "localhost:1", "LOCALHOST:1", "[::ffff:127.0.0.1]:1"} {
		assert.NoError(t, localhost.CheckAddress(at, "give --token"), at)
	}
	for at, want := range map[string]string{
		":8787":            "every interface can be reached from other machines: listen on 127.0.0.1, or give --token",
		"0.0.0.0:8787":     "0.0.0.0 can be reached from other machines: listen on 127.0.0.1, or give --token",
		"[::]:8787":        ":: can be reached from other machines: listen on 127.0.0.1, or give --token",
		"192.168.1.4:8787": "192.168.1.4 can be reached from other machines: listen on 127.0.0.1, or give --token",
		"localhost.evil:1": "localhost.evil can be reached from other machines: listen on 127.0.0.1, or give --token",
		"8788":             `"8788" is not a host and a port: give an address such as 127.0.0.1:8788`,
		"99999":            `"99999" is not a host and a port: give an address such as 127.0.0.1:8787`,
		"127.0.0.1":        `"127.0.0.1" is not a host and a port: give an address such as 127.0.0.1:8787`,
	} {
		assert.EqualError(t, localhost.CheckAddress(at, "give --token"), want)
	}
}

func TestLocal(t *testing.T) {
	at := func(a net.Addr) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
		return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, a))
	}
	assert.True(t, localhost.Local(at(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})))
	assert.True(t, localhost.Local(at(&net.TCPAddr{IP: net.IPv6loopback, Port: 1})))
	assert.True(t, localhost.Local(at(&net.UnixAddr{Net: "unix", Name: "/x"})))
	assert.False(t, localhost.Local(at(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1})))
	assert.False(t, localhost.Local(httptest.NewRequest(http.MethodGet, "http://localhost/", nil)), "unknown")
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.:80": true, "127.0.0.1:8787": true, "[::1]:8787": true, "[::1]": true,
		"box.lan": false, "192.168.1.4": false, "": false, "localhost.evil": false,
	} {
		r := at(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
		r.Host = host
		assert.Equal(t, want, localhost.Local(r), host)
	}
	for _, header := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"} {
		r := at(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
		r.Header.Set(header, "192.0.2.7")
		assert.False(t, localhost.Local(r), "%s: a reverse proxy that sends a Host of its own", header)
	}
}

func TestCheck(t *testing.T) {
	for about, c := range map[string]struct {
		method, host string
		header       map[string][]string
		refused      string // the header; empty: the request passes
	}{
		"a program":                      {host: "127.0.0.1:8787"},
		"localhost":                      {host: "localhost:8787"},
		"the name of the root":           {host: "Localhost."},
		"IPv6":                           {host: "[::1]:8787"},
		"an address of the machine":      {host: "192.168.1.4:8787"},
		"an allowed name":                {host: "Box.Lan:8787"},
		"rebinding":                      {host: "evil.example:8787", refused: "Host"},
		"a name that ends as an address": {host: "evil.127.0.0.1:80", refused: "Host"},
		"below localhost":                {host: "localhost.evil.example", refused: "Host"},
		"no Host":                        {host: "", refused: "Host"},
		"a port that is none":            {host: "localhost:80@evil.example", refused: "Host"},
		"the same origin":                {host: "localhost:8787", header: map[string][]string{"Origin": {"http://localhost:8787"}}},
		"another site":                   {host: "localhost:8787", header: map[string][]string{"Origin": {"https://evil.example"}}, refused: "Origin"},
		"another port":                   {host: "localhost:8787", header: map[string][]string{"Origin": {"http://localhost:3000"}}, refused: "Origin"},
		"a sandbox":                      {host: "localhost:8787", header: map[string][]string{"Origin": {"null"}}, refused: "Origin"},
		"an extension":                   {host: "localhost:8787", header: map[string][]string{"Origin": {"chrome-extension://localhost:8787"}}, refused: "Origin"},
		"an empty Origin":                {host: "localhost:8787", header: map[string][]string{"Origin": {""}}, refused: "Origin"},
		"two":                            {host: "localhost:8787", header: map[string][]string{"Origin": {"http://localhost:8787", "https://evil.example"}}, refused: "Origin"},
		"the page itself":                {host: "localhost:8787", header: map[string][]string{"Sec-Fetch-Site": {"same-origin"}}},
		"the address bar":                {host: "localhost:8787", header: map[string][]string{"Sec-Fetch-Site": {"none"}}},
		"a link":                         {host: "localhost:8787", header: map[string][]string{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}}},
		"a form": {
			method: http.MethodPost, host: "localhost:8787",
			header: map[string][]string{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}}, refused: "Sec-Fetch-Site",
		},
		"an image": {
			host: "localhost:8787", header: map[string][]string{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"}}, refused: "Sec-Fetch-Site",
		},
		"another port, without Origin": {host: "localhost:8787", header: map[string][]string{"Sec-Fetch-Site": {"same-site"}, "Sec-Fetch-Mode": {"no-cors"}}, refused: "Sec-Fetch-Site"},
	} {
		t.Run(about, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if c.method != "" {
				r.Method = c.method
			}
			r.Host, r.Header = c.host, c.header
			err := localhost.Check(r, []string{"box.lan"})
			if c.refused == "" {
				assert.NoError(t, err)
				return
			}
			var refused *localhost.Error
			if assert.ErrorAs(t, err, &refused) {
				assert.Equal(t, c.refused, refused.Header)
				assert.Contains(t, err.Error(), c.refused)
			}
		})
	}
}
