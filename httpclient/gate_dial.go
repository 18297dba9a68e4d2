package httpclient

import (
	"context"
	"errors"
	"net"
	"syscall"

	"code.dny.dev/ssrf"
)

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dial returns the function that makes the client's connections. With a gate, each address is checked when its socket exists
// and before it connects, except for proxies, which the user configured.
func (c Config) dial(dialer *net.Dialer, conns *connections) dialFunc {
	if c.Dial != nil {
		return dialWith(c.hooked(), c.Timeouts.Connect, conns)
	}
	open := dialWith(dialer.DialContext, dialer.Timeout, conns)
	if c.Gate == nil {
		return open
	}
	g := newGate(*c.Gate, c.Proxies)
	judged := *dialer
	judged.Control = g.control
	guarded := dialWith(judged.DialContext, judged.Timeout, conns)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if g.proxies[canonicalAddress(address)] {
			return open(ctx, network, address)
		}
		return guarded(ctx, network, address)
	}
}

// control is for net.Dialer.
func (g *gate) control(network, address string, conn syscall.RawConn) error {
	err := g.guard.Safe(network, address, conn)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ssrf.ErrProhibitedPort):
		return &GateError{Target: address, Rule: rulePort, Remedy: "add the port to Gate.Ports"}
	default:
		return &GateError{Target: address, Rule: ruleAddress, Remedy: notPublic}
	}
}
