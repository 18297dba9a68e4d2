package httpclient

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
)

// Gate says where a client may go: a guard against forged requests of the
// server's side (SSRF), for URLs that somebody else wrote or redirects to. The
// zero value lets https through to public addresses, on port 443.
//
// Every request of a client with Config.Gate passes it, before anything is sent, and so does
// every address that a name resolves to, when it is dialled: a name that is
// moved to an inside address after it was looked at is refused too. A Request.Host that is not the URL's is judged as the URL is.
// A host with a proxy is dialled by the proxy; of such a request the URL is judged and nothing more.
//
// Refused whatever the fields say: userinfo; hosts in any script but ASCII, with percent
// escapes, with a zone, or with an IPv4 address that is not four decimal numbers; an IPv6
// address that stands for one of IPv4, unless AllowPrefixes has it; the address of a proxy in Config.Proxies.
type Gate struct {
	// Schemes is the list of "http" and "https" that may be used. Empty means https.
	Schemes []string

	// Ports is the list of those that may be used. Empty means 443 for https and 80 for http.
	Ports []uint16

	// Allow is the list of hosts that may be used: a name or an address, without port, or a
	// dot and a name, such as ".example.com", for all below it and not itself. Empty means every public one.
	//
	// Names that belong to a local network pass only if they are here: those without a
	// dot, and those below localhost, local, internal and home.arpa. Where a name leads is still judged.
	Allow []string

	// Deny is the list of hosts that may not be used, also where Allow has them. It is written as Allow is.
	Deny []string

	// AllowPrefixes is the list of addresses that may be used besides the public ones, such as 10.1.0.0/16. Without,
	// these are refused: private, loopback, link-local, shared (100.64.0.0/10), multicast, unspecified,
	// reserved and documentation ones, unique local ones, and those that hold an
	// IPv4 address (mapped, NAT64, 6to4, Teredo). The list is IANA's, plus 168.63.129.16,
	// where Azure answers its virtual machines.
	AllowPrefixes []netip.Prefix
}

// Validate returns everything that is wrong with g, joined, each problem as a *fault.FieldError, or nil.
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
		problems.Addf("Gate.Ports", "0 is no port; want 1 to 65535")
	}
	for _, list := range []struct {
		field string
		hosts []string
	}{{"Gate.Allow", g.Allow}, {"Gate.Deny", g.Deny}} {
		for _, host := range list.hosts {
			if !validPattern(host) {
				problems.Addf(list.field, "%q; want a host in lower case without port, in ASCII, or .example.com for what is below it", host)
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
			problems.Addf("Gate.Allow", "%q is in Gate.Deny too, which wins; leave it out of one of them", host)
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

// Check returns a [*GateError] if g refuses u, or nil. It does not look names
// up. A client with Config.Gate does this for each of its requests by itself.
func (g Gate) Check(u *url.URL) error {
	if err := g.Validate(); err != nil {
		return err
	}
	return newGate(g, nil).check(u)
}
