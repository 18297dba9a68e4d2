package httpclient

import (
	"cmp"
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

// Config says what a client does. The zero value is ready to use. New keeps a copy.
type Config struct {
	// Service names the other side in errors and events. Empty means the host of each request.
	Service string

	// Timeouts bounds each phase.
	Timeouts Timeouts

	// Pool bounds the connections.
	Pool Pool

	// NoHTTP2 keeps to HTTP/1.1. Otherwise HTTP/2 is used with servers that offer it over TLS; a connection that was
	// silent for 15 s is pinged and given up after 5 s without an answer.
	NoHTTP2 bool

	// RootCAs is whom the client trusts, in place of the system's roots; nil means those. TLS is 1.2 at least.
	RootCAs *x509.CertPool

	// Proxies gives hosts a proxy: the key is a host name without port, in lower case, the value a URL with the
	// scheme http, https, socks5 or socks5h. Hosts that are not there have none: the environment is not looked at. A
	// dot at the end of a request's host does not count; a host that is not ASCII is refused. What a proxy is asked
	// before the request, TLS with it included, is a part of connecting.
	Proxies map[string]*url.URL

	// Resolver looks names up; nil means the system's.
	Resolver *net.Resolver

	// UserAgent is sent where a request has none. Empty means "headrace".
	UserAgent string

	// RunID names the run of the program; it goes into events and the header X-Run-Id. It must be no secret. Empty
	// means none.
	RunID string

	// NoIDs sends neither X-Correlation-Id nor X-Run-Id. Otherwise each request has an id in X-Correlation-Id, a random
	// text for the client and a count, unless it comes with one in that header.
	NoIDs bool

	// MaxRequest is how long the body of a request may be, in bytes, also after Wrap and Sign. A longer one is not sent
	// if its length is known, and broken off if not. 0 means 64 MiB.
	MaxRequest int64

	// MaxResponse is how long the body of an answer may be, in bytes after decompression. Reading more is an error
	// with CodeBodyLimit. 0 means 64 MiB.
	MaxResponse int64

	// MaxHeader is how long the header of an answer may be, in bytes. 0 means 1 MiB.
	MaxHeader int64

	// NoDecompression neither asks for gzip nor undoes it. Otherwise gzip is asked for and undone while the body is
	// read, unless the request says Accept-Encoding itself.
	NoDecompression bool

	// FailOnRedirect makes an error with CodeRedirect of an answer that redirects. Otherwise the caller gets that
	// answer; an SDK would try to decode it. Redirects are never followed, but by Client.FollowAudited.
	FailOnRedirect bool

	// Gate refuses requests by where they go; what it refuses is a *GateError with CodeUnsent. Nil means that every
	// host is asked, which suits a client whose URLs are all the program's own.
	Gate *Gate

	// Cache puts a cache around everything below, Wrap included, such as one that keeps to RFC 9111: a hit waits for
	// no limiter, costs no quota and is no attempt, and the event says Cached; asking the server whether an answer is
	// still good is an attempt. It sees requests without what Sign and Wrap add, so a cache belongs to one account.
	// MaxResponse holds for what it returns too. It is called once, by New, under the rules of Wrap. Nil means none.
	Cache func(next http.RoundTripper) http.RoundTripper

	// Wrap puts round trippers around the wire, the first outermost: limiters, caches, ways of authentication. Each
	// function is called once, by New, with what comes next. A round tripper has to keep to the rules of
	// http.RoundTripper, and pass on the values of the request's context.
	Wrap []func(next http.RoundTripper) http.RoundTripper

	// Sign adds credentials to each attempt, within its Timeouts.Call. The request is a copy, which it may change,
	// but not its body: GetBody gives another reader of that. It is called for whatever host was asked for. An error
	// fails the attempt with CodeUnsent. It must be safe for concurrent use. Nil means none.
	Sign func(req *http.Request) error

	// Breaker refuses attempts while the other side does not work; nil means none. A status of 5xx is a failure, as
	// is an error; 429, 529 and a 503 with Retry-After say nothing; any other status is a success, once the body is
	// read or closed.
	Breaker *breaker.Breaker

	// Observer is told of every request, with event.NetRequest, in addition to those of the request's context.
	Observer event.Observer
}

// Pool bounds the connections of a client. The zero value means the defaults.
type Pool struct {
	// MaxIdle is how many connections are kept for later use. 0 means 128.
	MaxIdle int
	// MaxIdlePerHost is how many of them for each host. 0 means 64, or MaxIdle where that is less.
	MaxIdlePerHost int
	// MaxPerHost is how many connections a host may have, idle or not; who needs one more waits. 0 means no bound:
	// the limiter is the one to bound calls.
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
	c.Proxies = maps.Clone(c.Proxies)
	c.Wrap = slices.Clone(c.Wrap)
	return c
}
