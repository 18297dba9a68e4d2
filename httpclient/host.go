package httpclient

import (
	"net"
	"strings"
)

// canonicalHost is the one spelling of a host, as names are looked up and compared: lower case, no dot at the
// end. It takes no port and no brackets.
func canonicalHost(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// canonicalAddress returns host:port with a canonical host. A text that is not an address is returned unchanged.
func canonicalAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return net.JoinHostPort(canonicalHost(host), port)
}
