package httpclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

var errProxyOfWhom = errors.New("httpclient: Config.Proxies needs the host in ASCII, as in xn--bcher-kva.example")

// proxy is for http.Transport.
func (c Config) proxy(req *http.Request) (*url.URL, error) {
	if len(c.Proxies) > 0 {
		host := req.URL.Hostname()
		if strings.ContainsFunc(host, notASCII) { // it would go by the proxy that it has in its other spelling
			return nil, errProxyOfWhom
		}
		if proxy := c.Proxies[canonicalHost(host)]; proxy != nil {
			return proxy, nil
		}
	}
	if c.Proxy == nil {
		return nil, nil //nolint:nilnil // how http.Transport wants it
	}
	return c.Proxy(req)
}

func (c Config) validateProxy(host string, problems *invalid.Problems) {
	field, proxy := "Proxies["+host+"]", c.Proxies[host]
	if strings.HasPrefix(host, ".") || !validPattern(host) {
		problems.Addf(field, "the key is not a host name; want one in lower case and in ASCII (xn--...), without port, pattern or trailing dot")
	}
	if proxy == nil {
		problems.Addf(field, "nil; leave the host out if it has no proxy")
		return
	}
	switch proxy.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		problems.Addf(field, "scheme %q; want http, https, socks5 or socks5h", proxy.Scheme)
	}
	if proxy.Hostname() == "" {
		problems.Addf(field, "has no host; want such as http://proxy:3128")
	}
}

// greet holds what a proxy is asked on conn, if anything, to Timeouts.Connect: net/http gives it a minute, or no bound.
func (a *attempt) greet(conn *connection, until time.Time) {
	proxy, err := a.call.client.config.proxy(a.req)
	if err != nil || proxy == nil || proxy.Scheme == schemeHTTP && a.req.URL.Scheme == schemeHTTP {
		return
	}
	conn.greeting.Store(true)
	conn.proxyTLS.Store(proxy.Scheme == schemeHTTPS)
	_ = conn.SetDeadline(until) // one that cannot have one is broken, which shows
	a.greeting.Store(conn)
}

// greeted takes the bound away.
func (c *connection) greeted() {
	if c.greeting.CompareAndSwap(true, false) {
		_ = c.SetDeadline(time.Time{})
	}
}

func refusedByProxy(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{resp.StatusCode}
}
