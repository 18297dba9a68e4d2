package proxy

import (
	"crypto/tls"
	"log/slog"
	"math"
	"net/http"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/http2dead"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
)

const defaultMaxBody = replay.MaxResent

// Config describes a Proxy. The zero Config is ready to use.
type Config struct {
	// Upstreams are those beside the Known ones, by name. They may replace known ones.
	Upstreams map[string]Upstream
	// Preset is where learning starts for the upstreams of its provider and for those
	// of an unknown provider. If it is empty, the limits are found.
	Preset presets.ID
	// Registry holds the limiters. Nil means registry.Default().
	Registry *registry.Registry
	// Policy is given to headrace.With for each upstream. Its Preset must be empty.
	Policy guard.Policy

	// MaxQueue bounds how many requests wait for one upstream, credential and pool of
	// models. The default is 10,000.
	MaxQueue int
	// MaxWait bounds how long a request waits for limits, over all attempts. The
	// default is 5 minutes.
	MaxWait time.Duration
	// MaxBody is the maximum size of a request body that can be sent again, in
	// bytes. A larger one is sent once, and is read when its request is admitted: over
	// HTTP/1, a client that leaves before that keeps its place. The default is 16 MiB.
	MaxBody int64

	// Token is required from every client if it is set: as the header X-Headrace-Token
	// or as the path prefix /t/TOKEN. It has at least 16 letters, digits, dashes and
	// underscores.
	Token string
	// TLS is used by Listen and Server. Nil means no TLS.
	TLS *tls.Config
	// Hosts are names in the Host header that are accepted besides localhost and IP
	// addresses, without a port.
	Hosts []string
	// Origins are the origins of web pages that may send requests, such as
	// https://app.example.com. By default, only the proxy's own origin may.
	Origins []string

	// Weights are the shares of clients, by name: one of weight 2 is admitted twice as
	// often as one of weight 1, the default, while both wait.
	Weights map[string]float64
	// Heartbeat is how often a waiting client of a stream receives a comment. The first one
	// commits the status 200; a later error is an event of the stream. 0 means never.
	Heartbeat time.Duration

	// Observer receives the events of the limiters. Nil discards them.
	Observer event.Observer
	// Log receives panics, without their values, which may repeat a secret; their requests get a 500.
	// If it is nil, a panic reaches the http.Server. That of Proxy.Server discards it.
	Log *slog.Logger
	// Base sends requests. The default is an http.Transport with many idle connections, which closes a connection over
	// HTTP/2 that does not respond for 20 seconds.
	Base http.RoundTripper
}

const owner = "proxy"

// check reports what can be seen of each field alone.
func (c *Config) check(to *invalid.Problems) {
	if c.Policy.Preset != "" {
		to.Addf("Policy.Preset", "use Config.Preset or the Preset of an upstream")
	}
	if c.MaxQueue < 0 {
		to.Addf("MaxQueue", "%d is negative: use 0 for the default of %d", c.MaxQueue, line.DefaultMaxQueue)
	}
	if c.MaxWait < 0 {
		to.Addf("MaxWait", "%s is negative: use 0 for the default of %s", c.MaxWait, line.DefaultMaxWait)
	}
	if c.MaxBody < 0 || c.MaxBody > mostMemory {
		to.Addf("MaxBody", "%d is not from 0 to %d, the memory for all bodies: use 0 for the default of %d", c.MaxBody, mostMemory, defaultMaxBody)
	}
	if c.Heartbeat < 0 || c.Heartbeat > 0 && c.Heartbeat < time.Second {
		to.Addf("Heartbeat", "%s is less than 1s: use 0 for none", c.Heartbeat)
	}
	for name, w := range c.Weights {
		if !(w > 0) || math.IsInf(w, 1) {
			to.Addf("Weights["+name+"]", "%v is not a weight: use a number above 0", w)
		}
	}
	c.checkToken(to)
	c.checkHosts(to)
	to.AddPart("Policy", c.Policy.Validate())
}

// fill sets the defaults.
func (c *Config) fill() {
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.Registry == nil {
		c.Registry = registry.Default()
	}
	if c.Base == nil {
		c.Base = newBase()
	}
	c.Policy.Observer = event.Tee(c.Policy.Observer, c.Observer)
}

// newBase returns a transport that keeps a connection for each call in flight, and closes dead ones.
func newBase() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		t = d.Clone()
	}
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.HTTP2 = 4096, 1024, http2dead.Config()
	return t
}
