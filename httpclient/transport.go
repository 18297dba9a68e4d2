package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/headrace/headrace/internal/http2dead"
	"github.com/headrace/headrace/internal/panics"
)

// newTransport makes the innermost round tripper. c must be complete.
func newTransport(c Config, conns *connections) *http.Transport {
	dialer := &net.Dialer{Timeout: c.Timeouts.Connect, Resolver: c.Resolver}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!c.NoHTTP2)
	return &http.Transport{
		Proxy:                  c.proxy,
		DialContext:            c.dial(dialer, conns),
		OnProxyConnectResponse: refusedByProxy,
		TLSClientConfig:        c.tls(),
		TLSHandshakeTimeout:    c.Timeouts.TLS,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        c.Pool.Idle,
		MaxIdleConns:           c.Pool.MaxIdle,
		MaxIdleConnsPerHost:    c.Pool.MaxIdlePerHost,
		MaxConnsPerHost:        c.Pool.MaxPerHost,
		MaxResponseHeaderBytes: c.MaxHeader,
		DisableCompression:     c.NoDecompression,
		Protocols:              protocols,
		ForceAttemptHTTP2:      !c.NoHTTP2,
		HTTP2:                  http2dead.Config(),
	}
}

// tls is the configuration of TLS.
func (c Config) tls() *tls.Config {
	own := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.TLS != nil {
		own = c.TLS.Clone()
		own.MinVersion = max(own.MinVersion, tls.VersionTLS12)
	}
	if c.RootCAs != nil {
		own.RootCAs = c.RootCAs
	}
	return own
}

// dialWith reports to the attempt that it dials. This is cheaper than the hooks of httptrace, which need a context and a
// function each.
func dialWith(dial dialFunc, timeout time.Duration, conns *connections) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		a, until := attemptOf(ctx), time.Now().Add(timeout)
		if a != nil {
			a.reach(stepConnect)
		}
		ctx, done := conns.begin(ctx) // net/http continues to dial for the next request, even when this one has ended
		defer done()
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		conn, err := conns.keep(raw)
		if err != nil {
			return nil, err
		}
		if a != nil {
			a.greet(conn, until)
		}
		return conn, nil
	}
}

// hooked is Config.Dial, held to Timeouts.Connect.
func (c Config) hooked() dialFunc {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		ctx, cancel := context.WithTimeout(ctx, c.Timeouts.Connect)
		defer cancel()
		defer panics.Catch(&err)
		conn, err = c.Dial(ctx, network, address)
		if err == nil && conn == nil {
			err = errors.New("httpclient: Config.Dial returned neither a connection nor an error")
		}
		if err != nil && !isA[*net.OpError](err) {
			err = &net.OpError{Op: "dial", Net: network, Err: err}
		}
		return conn, err
	}
}
