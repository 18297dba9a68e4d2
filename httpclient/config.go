package httpclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
)

// The defaults of a Config, chosen by judgement.
const (
	defaultUserAgent      = "headrace"
	defaultMaxIdle        = 128
	defaultMaxIdlePerHost = 64
	defaultIdle           = 90 * time.Second // as http.DefaultTransport
	defaultMaxBody        = 64 << 20
	defaultMaxHeader      = 1 << 20
)

// Config describes a client. The zero value is ready to use. New keeps a copy.
type Config struct {
	// Service names the service in errors and events. Empty means the host of each request.
	Service string

	// Timeouts bounds each phase.
	Timeouts Timeouts

	// Pool bounds the connections.
	Pool Pool

	// NoHTTP2 restricts the client to HTTP/1.1. HTTP/2 connections are pinged after 15 s of silence and
	// closed 5 s later.
	NoHTTP2 bool

	// RootCAs replaces the system's root certificates if not nil. The minimum is TLS 1.2.
	RootCAs *x509.CertPool

	// TLS has client certificates, or other settings. Nil means the defaults. It is copied; the minimum
	// stays TLS 1.2. RootCAs takes precedence, and NextProtos must be empty.
	TLS *tls.Config

	// Proxies maps host names, in lower case and without port, to proxies (http, https, socks5, socks5h).
	// Other hosts have none, unless Proxy says so. A non-ASCII host is rejected. Timeouts.Connect includes
	// the exchange with the proxy.
	Proxies map[string]*url.URL

	// Proxy chooses the proxy of hosts that are not in Proxies, such as http.ProxyFromEnvironment. Nil
	// means none: the environment is ignored. It must be safe for concurrent use, and is called several
	// times for a request. A Gate needs Proxies instead.
	Proxy func(*http.Request) (*url.URL, error)

	// Resolver looks up names. Nil means the system's.
	Resolver *net.Resolver

	// Dial makes connections in place of a net.Dialer, within Timeouts.Connect, such as to a Unix socket.
	// Nil means net.Dialer. It contradicts Resolver, and Gate, which has to see each address.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// UserAgent is sent if a request has none. Empty means "headrace".
	UserAgent string

	// RunID names the run of the program in events and in X-Run-Id. It must not be secret.
	RunID string

	// NoIDs turns off X-Correlation-Id and X-Run-Id. An X-Correlation-Id of the caller is kept.
	NoIDs bool

	// MaxRequest bounds the request body, in bytes, after Wrap and Sign. A longer one is not sent, or
	// broken off if its length is unknown. 0 means 64 MiB.
	MaxRequest int64

	// MaxResponse bounds the response body, in bytes after decompression; more is an error with
	// CodeBodyLimit. 0 means 64 MiB.
	MaxResponse int64

	// MaxHeader bounds the response header, in bytes. 0 means 1 MiB.
	MaxHeader int64

	// NoDecompression neither requests nor decodes gzip. The same holds for requests with their own
	// Accept-Encoding.
	NoDecompression bool

	// FailOnRedirect turns a redirect into an error with CodeRedirect, for SDKs that would decode it.
	FailOnRedirect bool

	// Gate rejects requests by destination, with a *GateError and CodeUnsent. Nil means any host, for URLs
	// that are all your own.
	Gate *Gate

	// Cache wraps everything below it, Wrap included, such as a cache by RFC 9111. A hit is not an attempt
	// and its event says Cached. It sees no credentials, so it must belong to one account. New calls it
	// once. Nil means none.
	Cache func(next http.RoundTripper) http.RoundTripper

	// Wrap puts round trippers around the wire, the first outermost. New calls each function once. A round
	// tripper must keep the rules of http.RoundTripper and the values of the request's context. It does
	// not see what Sign adds, and each request it sends is an attempt.
	Wrap []func(next http.RoundTripper) http.RoundTripper

	// Sign adds credentials to each attempt, for any host, within Timeouts.Call. It may change the request
	// except its body, which GetBody reads. An error fails the attempt with CodeUnsent. It must be safe
	// for concurrent use. Nil means none.
	Sign func(req *http.Request) error

	// Breaker rejects attempts while the service is failing. Errors and 5xx are failures; 429, 529 and a
	// 503 with Retry-After are ignored; any other status is a success. Nil means none.
	Breaker *breaker.Breaker

	// Observer receives event.NetRequest, in addition to the observers of the request's context.
	Observer event.Observer
}

// Pool bounds the connections of a client. The zero value means the defaults.
type Pool struct {
	// MaxIdle bounds the idle connections. 0 means 128.
	MaxIdle int
	// MaxIdlePerHost is the same for each host. 0 means 64, or MaxIdle if that is less.
	MaxIdlePerHost int
	// MaxPerHost bounds all connections of a host; further requests wait. 0 means no bound.
	MaxPerHost int
	// Idle is how long an idle connection is kept. 0 means 90 s.
	Idle time.Duration
}

// withDefaults returns a copy of c with its zero fields filled in. c must be valid.
func (c Config) withDefaults() Config {
	c.Timeouts = c.Timeouts.withDefaults()
	c.Pool.MaxIdle = cmp.Or(c.Pool.MaxIdle, max(defaultMaxIdle, c.Pool.MaxIdlePerHost))
	c.Pool.MaxIdlePerHost = cmp.Or(c.Pool.MaxIdlePerHost, min(defaultMaxIdlePerHost, c.Pool.MaxIdle))
	c.Pool.Idle = cmp.Or(c.Pool.Idle, defaultIdle)
	c.UserAgent = cmp.Or(c.UserAgent, defaultUserAgent)
	c.MaxRequest = cmp.Or(c.MaxRequest, defaultMaxBody)
	c.MaxResponse = cmp.Or(c.MaxResponse, defaultMaxBody)
	c.MaxHeader = cmp.Or(c.MaxHeader, defaultMaxHeader)
	c.TLS = c.TLS.Clone() // nil stays nil
	c.Proxies = maps.Clone(c.Proxies)
	c.Wrap = slices.Clone(c.Wrap)
	return c
}
