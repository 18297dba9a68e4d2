package httpclient_test

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/retry"
)

func through(scheme, address string) func(*httpclient.Config) {
	return func(c *httpclient.Config) {
		c.Proxies = map[string]*url.URL{
			"api.example.com": {Scheme: scheme, Host: address, User: url.UserPassword("somebody", canary)},
		}
	}
}

// A proxy that says nothing is given as long as a connection is.
func TestProxySilent(t *testing.T) {
	silent := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	for _, scheme := range []string{"http", "https", "socks5"} {
		for _, target := range []string{"http", "https"} {
			if scheme == "http" && target == "http" {
				continue // nothing is asked
			}
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, func(c *httpclient.Config) {
					through(scheme, "proxy.example")(c)
					c.Timeouts.Connect, c.Timeouts.TLS = 3*time.Second, 5*time.Second
				})
				c.InMemory(silent)
				failed := failure(t, get(t, c, target+"://api.example.com"))
				assert.Equal(t, httpclient.CodeConnectTimeout, failed.Code, "%v", failed)
				assert.Equal(t, httpclient.PhaseConnect, failed.Phase)
				assert.Equal(t, 3*time.Second, failed.Elapsed)
			})
		}
	}
}

// Once the proxy has connected, its bound is gone.
func TestProxyBoundEndsWithConnecting(t *testing.T) {
	answer := after(func(c net.Conn) {
		time.Sleep(8 * time.Second)
		_, _ = io.WriteString(c, ok+"Content-Length: 0\r\n\r\n")
	})
	connected := func(c net.Conn, then func(net.Conn)) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			then(c)
		}
	}
	var cert tls.Certificate
	secure := func(serve func(net.Conn)) func(net.Conn) {
		return func(c net.Conn) { over(&tls.Config{Certificates: []tls.Certificate{cert}}, serve)(c) }
	}
	slow := func(serve func(net.Conn)) func(net.Conn) {
		return func(c net.Conn) { time.Sleep(4 * time.Second); serve(c) }
	}
	for name, tc := range map[string]struct {
		url   string
		proxy string
		serve func(net.Conn)
	}{
		"an answer":            {"http://127.0.0.1", "http", answer},
		"over SOCKS":           {"http://127.0.0.1", "socks5", func(c net.Conn) { socks(c); answer(c) }},
		"the proxy's TLS":      {"http://127.0.0.1", "https", secure(answer)},
		"a handshake":          {"https://127.0.0.1", "http", func(c net.Conn) { connected(c, slow(secure(answer))) }},
		"a handshake in one":   {"https://127.0.0.1", "https", secure(func(c net.Conn) { connected(c, slow(secure(answer))) })},
		"a handshake in SOCKS": {"https://127.0.0.1", "socks5", func(c net.Conn) { socks(c); slow(secure(answer))(c) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				good, trusted := goodCertificate(t) // of this clock
				cert = good
				c := newClient(t, func(c *httpclient.Config) {
					c.Proxies = map[string]*url.URL{"127.0.0.1": {Scheme: tc.proxy, Host: "127.0.0.1:1"}}
					c.RootCAs, c.NoHTTP2, c.Timeouts.Connect = trusted, true, 3*time.Second
				})
				c.InMemory(tc.serve)
				assert.NoError(t, get(t, c, tc.url))
			})
		})
	}
}

// socks accepts any login.
func socks(c net.Conn) {
	b := make([]byte, 256)
	_, _ = c.Read(b)
	_, _ = c.Write([]byte{5, 0})
	_, _ = c.Read(b)
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
}

// What a proxy answers to CONNECT is about connecting, and its words are not repeated.
func TestProxyRefuses(t *testing.T) {
	cert, trusted := goodCertificate(t)
	for _, status := range []int{403, 407, 429, 502} {
		for _, scheme := range []string{"http", "https"} {
			var asked atomic.Int64
			refuse := func(c net.Conn) {
				req, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				asked.Add(1)
				sent := req.Header.Get("Proxy-Authorization")
				plain, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(sent, "Basic "))
				_, _ = fmt.Fprintf(c, "HTTP/1.1 %d not for %s, %s\r\n\r\n", status, plain, sent)
			}
			if scheme == "https" {
				refuse = over(&tls.Config{Certificates: []tls.Certificate{cert}}, refuse)
			}
			address := listen(t, refuse)
			c := newClient(t, func(c *httpclient.Config) {
				through(scheme, address)(c)
				c.RootCAs = trusted
				c.Wrap = append(c.Wrap, resend(retry.Policy{MaxAttempts: 3, Initial: 1}))
			})
			resp, err := c.Do(request(t, "POST", "https://api.example.com", nil))
			if err == nil {
				resp.Body.Close()
			}
			assert.Equal(t, httpclient.CodeConnect, failure(t, err).Code, "%v", err)
			assert.Equal(t, httpclient.PhaseConnect, failure(t, err).Phase)
			noCanary(t, err)
			assert.NotContains(t, err.Error(), "not for")
			want := int64(3)
			if status == 403 || status == 407 {
				want = 1
			}
			assert.Equal(t, want, asked.Load(), "%s %d", scheme, status)
		}
	}
}

// A proxy with an invalid response may repeat what it was sent.
func TestProxyEchoes(t *testing.T) {
	address := listen(t, func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err == nil {
			sent := req.Header.Get("Proxy-Authorization")
			plain, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(sent, "Basic "))
			_, _ = fmt.Fprintf(c, "HTTP/1.1 %s %s\r\n\r\n", plain, sent)
		}
	})
	err := get(t, newClient(t, through("http", address)), "https://api.example.com")
	noCanary(t, err)
	assert.NotContains(t, err.Error(), base64.StdEncoding.EncodeToString([]byte("somebody:"+canary)))
}

// However a host is written, it has its proxy.
func TestProxyOfEachSpelling(t *testing.T) {
	var seen atomic.Int64
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { seen.Add(1) })
	c := newClient(t, through("http", proxy.Listener.Addr().String()))
	for i, host := range []string{"api.example.com", "API.example.com", "api.example.com.", "api.example.com.:80"} {
		require.NoError(t, get(t, c, "http://"+host+"/"))
		assert.Equal(t, int64(i+1), seen.Load())
	}
	err := get(t, c, "http://b\u00fccher.example/")
	assert.Equal(t, httpclient.CodeUnsent, failure(t, err).Code)
	assert.ErrorContains(t, err, "ASCII")
}

func TestProxyKeys(t *testing.T) {
	for key, valid := range map[string]bool{
		"api.example.com": true, "localhost": true, "10.0.0.1": true, "::1": true, "xn--bcher-kva.example": true,
		"api.example.com:443": false, "*.example.com": false, ".example.com": false, "api.example.com.": false,
		"b\u00fccher.example": false, "Api.example.com": false, "[::1]": false, "": false, "a b": false, "http://a": false,
	} {
		_, err := httpclient.New(httpclient.Config{Proxies: map[string]*url.URL{key: {Scheme: "http", Host: "proxy"}}})
		assert.Equal(t, valid, err == nil, "%q: %v", key, err)
	}
}
