package httpclient

import (
	"crypto/tls"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
)

// Validate returns a joined *fault.FieldError for each problem, or nil.
func (c Config) Validate() error {
	problems := invalid.Problems{Owner: "httpclient"}
	c.Timeouts.validate(&problems)
	if c.Gate != nil {
		c.Gate.validate(&problems)
	}
	c.validateNumbers(&problems)
	c.validateTexts(&problems)
	for _, host := range slices.Sorted(maps.Keys(c.Proxies)) {
		c.validateProxy(host, &problems)
	}
	c.validateHooks(&problems)
	if slices.ContainsFunc(c.Wrap, func(f func(http.RoundTripper) http.RoundTripper) bool { return f == nil }) {
		problems.Addf("Wrap", "has a nil function; leave it out")
	}
	return problems.Err()
}

func (c Config) validateHooks(problems *invalid.Problems) {
	if c.TLS != nil {
		if c.TLS.MinVersion != 0 && c.TLS.MinVersion < tls.VersionTLS12 || c.TLS.MaxVersion != 0 && c.TLS.MaxVersion < tls.VersionTLS12 {
			problems.Addf("TLS", "allows less than TLS 1.2; leave MinVersion and MaxVersion out")
		}
		if len(c.TLS.NextProtos) > 0 {
			problems.Addf("TLS", "has NextProtos; leave them out, and set NoHTTP2 for HTTP/1.1 alone")
		}
		if c.TLS.RootCAs != nil && c.RootCAs != nil {
			problems.Addf("RootCAs", "contradicts TLS.RootCAs; leave one of them out")
		}
	}
	if c.Proxy != nil && c.Gate != nil {
		problems.Addf("Proxy", "contradicts Gate; name the proxies in Proxies")
	}
	if c.Dial != nil && c.Gate != nil {
		problems.Addf("Dial", "contradicts Gate, which has to see each address; leave one of them out")
	}
	if c.Dial != nil && c.Resolver != nil {
		problems.Addf("Dial", "contradicts Resolver; leave one of them out")
	}
}

func (c Config) validateNumbers(problems *invalid.Problems) {
	for _, one := range []struct {
		field     string
		n, normal int64
	}{
		{"Pool.MaxIdle", int64(c.Pool.MaxIdle), defaultMaxIdle},
		{"Pool.MaxIdlePerHost", int64(c.Pool.MaxIdlePerHost), defaultMaxIdlePerHost},
		{"MaxRequest", c.MaxRequest, defaultMaxBody},
		{"MaxResponse", c.MaxResponse, defaultMaxBody},
		{"MaxHeader", c.MaxHeader, defaultMaxHeader},
	} {
		if one.n < 0 {
			problems.Addf(one.field, "%d; want at least 1, or 0 for %d", one.n, one.normal)
		}
	}
	if c.Pool.MaxPerHost < 0 {
		problems.Addf("Pool.MaxPerHost", "%d; want at least 1, or 0 for no bound", c.Pool.MaxPerHost)
	}
	if c.Pool.MaxIdle > 0 && c.Pool.MaxIdlePerHost > c.Pool.MaxIdle {
		problems.Addf("Pool.MaxIdlePerHost", "%d is more than Pool.MaxIdle, %d", c.Pool.MaxIdlePerHost, c.Pool.MaxIdle)
	}
	if c.Pool.Idle < 0 {
		problems.Addf("Pool.Idle", "%v; want a positive duration, or 0 for %v", c.Pool.Idle, defaultIdle)
	}
}

func (c Config) validateTexts(problems *invalid.Problems) {
	for _, one := range []struct{ field, text string }{{"UserAgent", c.UserAgent}, {"RunID", c.RunID}} {
		if strings.ContainsFunc(one.text, func(r rune) bool { return r < ' ' || r > '~' }) {
			problems.Addf(one.field, "%q cannot be sent in a header; use printable ASCII", one.text)
		}
	}
}
