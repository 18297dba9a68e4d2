package proxy

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/localhost"
)

// gate decides which requests are let in at all.
type gate struct {
	token   *[sha256.Size]byte // nil if no token is required
	hosts   []string
	origins []string // in lower case
}

var tokenText = regexp.MustCompile(`^[A-Za-z0-9_-]{16,256}$`)

func (c *Config) checkToken(to *invalid.Problems) {
	if c.Token != "" && !tokenText.MatchString(c.Token) {
		to.Addf("Token", "not 16 to 256 letters, digits, dashes and underscores: use a random one, as of openssl rand -hex 32")
	}
}

func (c *Config) checkHosts(to *invalid.Problems) {
	for _, h := range c.Hosts {
		if h == "" || strings.ContainsAny(h, "/@*: ") && net.ParseIP(h) == nil {
			to.Addf("Hosts", "%q is not a host name or address without a port, such as proxy.internal", h)
		}
	}
	for _, o := range c.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o {
			to.Addf("Origins", "%q is not an origin, such as https://app.example.com", o)
		}
	}
}

func newGate(c *Config) gate {
	g := gate{hosts: c.Hosts}
	for _, o := range c.Origins {
		g.origins = append(g.origins, strings.ToLower(o))
	}
	if c.Token != "" {
		sum := sha256.Sum256([]byte(c.Token))
		g.token = &sum
	}
	return g
}

// admit returns why a request is refused, or nil. token is that of its path.
func (g *gate) admit(r *http.Request, token string) *failure {
	if f := g.ownPage(r); f != nil {
		return f
	}
	if g.token == nil || r.Method == http.MethodOptions && g.preflight(r) {
		return nil
	}
	if sent := r.Header["X-Headrace-Token"]; len(sent) == 1 {
		token = sent[0]
	}
	if sum := sha256.Sum256([]byte(token)); subtle.ConstantTimeCompare(sum[:], g.token[:]) != 1 {
		return fail(CodeToken, "the token is missing or wrong: send it as the header X-Headrace-Token, or put /t/TOKEN before the path of the base URL")
	}
	return nil
}

// ownPage refuses what may come from a web page of another site.
func (g *gate) ownPage(r *http.Request) *failure {
	if origin := r.Header["Origin"]; len(origin) == 1 && slices.Contains(g.origins, strings.ToLower(origin[0])) {
		other := *r
		other.Header = nil
		r = &other
	}
	refused, ok := errors.AsType[*localhost.Error](localhost.Check(r, g.hosts))
	switch {
	case !ok:
		return nil
	case refused.Header == "Host":
		return fail(CodeHost, "the Host header is not one of this proxy: use localhost or an IP address in the base URL, or add the name to the proxy's hosts")
	default:
		return fail(CodeOrigin, "web pages of this origin may not use the proxy: add it to the proxy's origins")
	}
}

// preflight reports whether a request asks what a page may send.
func (*gate) preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// allowPage lets a page of an allowed origin read the answer, and reports
// whether the request was only to ask for that and is answered.
func (g *gate) allowPage(w http.ResponseWriter, r *http.Request) (asked bool) {
	origins := r.Header["Origin"]
	if len(origins) == 0 || origins[0] == "" {
		return false
	}
	origin, h := origins[0], w.Header()
	h.Set("Access-Control-Allow-Origin", origin) // admit has judged it
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "*")
	if !g.preflight(r) {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS")
	h["Access-Control-Allow-Headers"] = r.Header["Access-Control-Request-Headers"]
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
