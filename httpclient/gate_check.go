package httpclient

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"
)

// gate is a compiled Gate. It is immutable.
type gate struct {
	Gate
	guard   *ssrf.Guardian
	proxies map[string]bool // host:port of Config.Proxies, which are dialled unjudged
}

// newGate makes the gate. g must be valid.
func newGate(g Gate, proxies map[string]*url.URL) *gate {
	g.Schemes, g.Ports = slices.Clone(g.Schemes), slices.Clone(g.Ports)
	g.Allow, g.Deny = slices.Clone(g.Allow), slices.Clone(g.Deny)
	if len(g.Schemes) == 0 {
		g.Schemes = []string{schemeHTTPS}
	}
	ports := g.Ports
	if len(ports) == 0 {
		ports = []uint16{portHTTP, portHTTPS} // the URL has been judged by its scheme
	}
	var v4, v6 []netip.Prefix
	for _, prefix := range g.AllowPrefixes {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	azure := netip.PrefixFrom(netip.AddrFrom4([4]byte{168, 63, 129, 16}), 32)
	return &gate{
		Gate:    g,
		proxies: proxyAddresses(proxies),
		guard: ssrf.New(ssrf.WithPorts(ports...), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...),
			ssrf.WithDeniedV4Prefixes(azure)),
	}
}

// proxyAddresses is what net/http dials for proxies.
func proxyAddresses(proxies map[string]*url.URL) map[string]bool {
	found := make(map[string]bool, len(proxies))
	for _, proxy := range proxies {
		port := proxy.Port()
		if port == "" {
			port = map[string]string{schemeHTTP: "80", schemeHTTPS: "443"}[proxy.Scheme]
		}
		if port == "" {
			port = "1080" // socks5
		}
		found[net.JoinHostPort(canonicalHost(proxy.Hostname()), port)] = true
	}
	return found
}

// checkRequest judges the Host of req too: a proxy goes by that.
func (g *gate) checkRequest(req *http.Request) error {
	if err := g.check(req.URL); err != nil {
		return err
	}
	if req.Host == "" || req.Host == req.URL.Host {
		return nil
	}
	asked := *req.URL
	asked.Host = req.Host
	return g.check(&asked)
}

func (g *gate) check(u *url.URL) error {
	if rule, remedy := g.judge(u); rule != "" {
		return &GateError{Target: shown(u), Rule: rule, Remedy: remedy}
	}
	return nil
}

// judge names the rule that refuses u, or none.
func (g *gate) judge(u *url.URL) (rule, remedy string) {
	host, ip, ok := parseHost(u)
	switch {
	case !slices.Contains(g.Schemes, u.Scheme):
		return ruleScheme, "use one of " + strings.Join(g.Schemes, ", ") + ", or add it to Gate.Schemes"
	case u.User != nil:
		return ruleUserinfo, "leave it out of the URL; Config.Sign adds credentials"
	case !ok:
		return ruleHost, "write the host as a name in ASCII (xn--...), as four decimal numbers, or as an IPv6 address in brackets without zone"
	case matches(g.Deny, host):
		return ruleDenied, "Gate.Deny has it"
	case len(g.Allow) > 0 && !matches(g.Allow, host):
		return ruleNotAllowed, "add the host to Gate.Allow"
	case !ip.IsValid() && local(host) && len(g.Allow) == 0:
		return ruleLocalName, "add the host to Gate.Allow if a name of the local network is meant"
	}
	port, ok := portOf(u)
	switch {
	case !ok || !g.allowsPort(u.Scheme, port):
		return rulePort, "leave the port out, or add it to Gate.Ports"
	case ip.IsValid() && g.guard.SafeAddr(ip) != nil:
		return ruleAddress, notPublic
	case g.proxies[net.JoinHostPort(host, strconv.Itoa(int(port)))]:
		return ruleProxy, "requests to the address of a proxy are not allowed"
	}
	return "", ""
}

func (g *gate) allowsPort(scheme string, port uint16) bool {
	if len(g.Ports) == 0 {
		return port == defaultPort(scheme)
	}
	return slices.Contains(g.Ports, port)
}

func matches(patterns []string, host string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return host == pattern || strings.HasPrefix(pattern, ".") && strings.HasSuffix(host, pattern)
	})
}

// local is for names that are reserved for local networks: RFC 6761, RFC 6762,
// RFC 8375, and .internal by ICANN's decision of 2024.
func local(host string) bool {
	return !strings.Contains(host, ".") || matches([]string{".localhost", ".local", ".internal", ".home.arpa", "home.arpa"}, host)
}
