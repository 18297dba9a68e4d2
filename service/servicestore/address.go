package servicestore

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/headrace/headrace/internal/invalid"
)

const addressForms = "https://HOST:PORT, http://HOST:PORT or unix:PATH"

// endpoint is where a server is.
type endpoint struct {
	target string // in the terms of gRPC
	secure bool   // with TLS
	local  bool   // only this machine reads what is sent
}

// endpointOf reads an address. What is wrong with it is added to p, which does not repeat what may be a password.
func endpointOf(address string, p *invalid.Problems) (e endpoint) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if path == "" {
			p.Addf("Address", "it ends after the colon: write unix:PATH, such as unix:/run/headrace.sock")
		}
		return endpoint{"unix:" + path, false, true}
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		p.Addf("Address", "it is not the address of a server: write %s", addressForms)
	case u.User != nil:
		p.Addf("Address", "it contains a user or a password: use WithToken")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		p.Addf("Address", "unexpected text after the host: write %s", addressForms)
	default:
		e.secure = u.Scheme == "https"
		port := u.Port()
		if port == "" {
			port = map[bool]string{true: "443", false: "80"}[e.secure]
		}
		e.target = "dns:///" + net.JoinHostPort(u.Hostname(), port)
		ip, err := netip.ParseAddr(u.Hostname())
		e.local = err == nil && ip.IsLoopback() || strings.EqualFold(u.Hostname(), "localhost")
	}
	return e
}

// transport is how gRPC connects.
func (e endpoint) transport(c *tls.Config) credentials.TransportCredentials {
	if !e.secure {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(c)
}

// check adds what does not go with the endpoint.
func (e endpoint) check(c *config, p *invalid.Problems) {
	if c.token != "" && !e.secure && !e.local && e.target != "" {
		p.Addf("WithToken", "http:// would send it to another machine in cleartext: use https://")
	}
	if strings.ContainsFunc(c.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		p.Addf("WithToken", "it contains a space or a character that is not ASCII: give the token alone, without Bearer")
	}
	if c.tls != nil && !e.secure && e.target != "" {
		p.Addf("WithTLS", "the address is without TLS: use https://")
	}
	if c.timeout <= 0 {
		p.Addf("WithTimeout", "%s is not positive: calls need some time, such as 1s", c.timeout)
	}
}

// bearer is a token as gRPC sends it.
type bearer string

// String keeps the token out of texts.
func (bearer) String() string { return "a token" }

// GoString does the same for %#v.
func (b bearer) GoString() string { return fmt.Sprintf("servicestore.bearer(%q)", b.String()) }

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: Open has checked it.
func (bearer) RequireTransportSecurity() bool { return false }
