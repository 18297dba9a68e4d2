package httpclient

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"

	portHTTP  = 80
	portHTTPS = 443

	maxHost  = 253 // RFC 1035, section 2.3.4, as text
	maxLabel = 63
)

// parseHost returns the host of u in its canonical form: lower case, without a trailing dot. ip is valid if the host is an
// address. ok is false for a host that another parser could read differently.
func parseHost(u *url.URL) (host string, ip netip.Addr, ok bool) {
	if u.Opaque != "" || len(u.Hostname()) > maxHost+1 || strings.ContainsFunc(u.Host, notASCII) {
		return "", ip, false
	}
	if strings.HasPrefix(u.Host, "[") {
		ip, err := netip.ParseAddr(u.Hostname())
		return ip.String(), ip, err == nil && ip.Is6() && ip.Zone() == ""
	}
	host = canonicalHost(u.Hostname())
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > maxLabel || strings.ContainsFunc(label, notInName) {
			return "", ip, false
		}
		last = label
	}
	if numeric(last) { // the URL standard reads such a host as IPv4 in whatever notation
		ip, err := netip.ParseAddr(host)
		return host, ip, err == nil
	}
	return host, ip, true
}

// notASCII is judged before the case is changed: the lower case of some letters is ASCII.
func notASCII(r rune) bool { return r > unicode.MaxASCII }

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

func numeric(label string) bool {
	digits, base := label, 10
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		digits, base = hex, 16
	}
	for _, r := range digits {
		if (r < '0' || r > '9') && (base == 10 || r < 'a' || r > 'f') {
			return false
		}
	}
	return true
}

func portOf(u *url.URL) (port uint16, ok bool) {
	if u.Port() == "" {
		return defaultPort(u.Scheme), true
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return uint16(n), err == nil
}

func defaultPort(scheme string) uint16 {
	if scheme == schemeHTTP {
		return portHTTP
	}
	return portHTTPS
}
