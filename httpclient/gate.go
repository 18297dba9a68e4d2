package httpclient

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
)

// Gate restricts where a client may go, for URLs from outside (SSRF). The zero value allows https on
// port 443 to public addresses.
//
// Every request of a client with Config.Gate is checked before it is sent, and every resolved address
// when it is dialled. For a host with a proxy only the URL is checked. Userinfo, ambiguous host
// spellings and the addresses of proxies are always rejected; docs/http.md lists the rules.
type Gate struct {
	// Schemes lists the allowed schemes, "http" and "https". Empty means https.
	Schemes []string

	// Ports lists the allowed ports. Empty means 443 for https and 80 for http.
	Ports []uint16

	// Allow lists the allowed hosts: a name or address without port, or ".example.com" for all names below
	// it. Empty means every public one. Local names, such as localhost, must be listed; their address is
	// still checked.
	Allow []string

	// Deny lists rejected hosts in the form of Allow, and takes precedence.
	Deny []string

	// AllowPrefixes lists allowed addresses besides the public ones, such as 10.1.0.0/16.
	AllowPrefixes []netip.Prefix
}

// Validate returns a joined *fault.FieldError for each problem, or nil.
func (g Gate) Validate() error {
	problems := invalid.Problems{Owner: "httpclient"}
	g.validate(&problems)
	return problems.Err()
}

func (g Gate) validate(problems *invalid.Problems) {
	for _, scheme := range g.Schemes {
		if scheme != schemeHTTP && scheme != schemeHTTPS {
			problems.Addf("Gate.Schemes", "%q; want http or https", scheme)
		}
	}
	if slices.Contains(g.Ports, 0) {
		problems.Addf("Gate.Ports", "0 is not a port; want 1 to 65535")
	}
	for _, list := range []struct {
		field string
		hosts []string
	}{{"Gate.Allow", g.Allow}, {"Gate.Deny", g.Deny}} {
		for _, host := range list.hosts {
			if !validPattern(host) {
				problems.Addf(list.field, "%q; want a host in lower case without port, in ASCII, or .example.com for its subdomains", host)
			}
		}
	}
	usable := true
	for _, prefix := range g.AllowPrefixes {
		if !prefix.IsValid() || prefix.Addr().Is4In6() {
			problems.Addf("Gate.AllowPrefixes", "%v; want such as 10.1.0.0/16 or fd00::/8", prefix)
			usable = false
		}
	}
	if usable {
		g.validateAllow(problems)
	}
}

// validateAllow finds hosts that can never pass.
func (g Gate) validateAllow(problems *invalid.Problems) {
	guard := newGate(g, nil).guard
	for _, host := range g.Allow {
		ip, err := netip.ParseAddr(host)
		switch {
		case matches(g.Deny, host):
			problems.Addf("Gate.Allow", "%q is also in Gate.Deny, which takes precedence; leave it out of one of them", host)
		case err == nil && validPattern(host) && guard.SafeAddr(ip) != nil:
			problems.Addf("Gate.Allow", "%q is %s", host, notPublic)
		}
	}
}

// validPattern asks for the form that hosts are compared in.
func validPattern(pattern string) bool {
	if ip, err := netip.ParseAddr(pattern); err == nil {
		return ip.Zone() == "" && ip.String() == pattern
	}
	host, ip, ok := parseHost(&url.URL{Host: strings.TrimPrefix(pattern, ".")})
	return ok && !ip.IsValid() && host == strings.TrimPrefix(pattern, ".")
}

// Check returns a *GateError if g rejects u. It does not look up names. A client with Config.Gate does
// this by itself.
func (g Gate) Check(u *url.URL) error {
	if err := g.Validate(); err != nil {
		return err
	}
	return newGate(g, nil).check(u)
}
