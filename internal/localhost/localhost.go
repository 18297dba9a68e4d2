// Package localhost keeps an HTTP server that is meant for this machine on this machine. It checks the address
// that a server listens on, and it refuses requests that a web page of another site makes in a browser on this
// machine: by DNS rebinding, which the Host shows, or across origins, which the Origin shows.
package localhost

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// CheckAddress returns an error unless a server that listens on address, a host and a port, can be reached from
// this machine only. remedy is the end of its text, such as "give --token".
func CheckAddress(address, remedy string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		port := "8787"
		if _, err := strconv.ParseUint(address, 10, 16); err == nil {
			port = address
		}
		return fmt.Errorf("%q is not a host and a port: give an address such as 127.0.0.1:%s", address, port)
	}
	if strings.EqualFold(host, "localhost") || loopback(host) {
		return nil
	}
	if host == "" {
		host = "every interface"
	}
	return fmt.Errorf("%s can be reached from other machines: listen on 127.0.0.1, or %s", host, remedy)
}

// Local reports whether r is of this machine: its connection arrived at a loopback address, and its Host is one, or
// "localhost". Other names belong to a reverse proxy that may be reachable from outside, and so do headers that name the origin
// of a forwarded request. Without a server that reports the address of the connection, r is not.
func Local(r *http.Request) bool {
	for _, h := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if len(r.Header[h]) > 0 {
			return false
		}
	}
	if host, _ := split(r.Host); host != "localhost" && !loopback(strings.Trim(host, "[]")) {
		return false
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	host, _, err := net.SplitHostPort(at.String())
	return at.Network() == "unix" || err == nil && loopback(host)
}

// Error says why a request is refused. Its text is for the person that meets it.
type Error struct {
	Header string // "Host", "Origin" or "Sec-Fetch-Site"
	Value  string
	Remedy string
}

// Error names the header, its value and the remedy.
func (e *Error) Error() string {
	return fmt.Sprintf("the %s %q is refused: %s", e.Header, e.Value, e.Remedy)
}

// Check returns an *Error if r may come from a web page of another site. A Host passes if it is "localhost", an
// IP address, which no name can be bound to, or one of hosts, which are names without a port. An Origin passes if it is that of the Host.
func Check(r *http.Request, hosts []string) error {
	if !allowed(r.Host, hosts) {
		return &Error{"Host", r.Host, "use localhost or an IP address, or add the name to the allowed hosts"}
	}
	origin := r.Header["Origin"]
	if len(origin) == 0 { // browsers leave it out of a GET across origins that reads nothing
		if len(r.Header["Sec-Fetch-Site"]) == 0 { // not a browser
			return nil
		}
		switch site := r.Header.Get("Sec-Fetch-Site"); {
		case site == "", site == "none", site == "same-origin":
		case r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Method == http.MethodGet: // a link
		default:
			return &Error{"Sec-Fetch-Site", site, "web pages of other sites have no access"}
		}
		return nil
	}
	u, err := url.Parse(origin[0])
	if len(origin) > 1 || err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, r.Host) {
		return &Error{"Origin", strings.Join(origin, ", "), "web pages of other sites have no access"}
	}
	return nil
}

func allowed(host string, hosts []string) bool {
	name, port := split(host)
	if strings.ContainsFunc(port, func(c rune) bool { return c < '0' || c > '9' }) {
		return false
	}
	if name == "localhost" || isIP(name) {
		return true
	}
	for _, h := range hosts {
		if strings.EqualFold(h, name) && name != "" {
			return true
		}
	}
	return false
}

// split returns the one spelling of the name in a Host, and the port.
func split(host string) (name, port string) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	return strings.ToLower(strings.TrimSuffix(name, ".")), port
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
