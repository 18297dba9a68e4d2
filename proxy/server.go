package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/localhost"
)

// Bounds on what clients may hold.
const (
	headerTime  = 10 * time.Second
	headerBytes = 64 << 10
	idleTime    = 2 * time.Minute
	mostStreams = 1000 // of one HTTP/2 connection
)

// Server returns a server for HTTP/1, HTTP/2 and unencrypted HTTP/2 (h2c), with
// all bounds set. Give it the listener of Listen. Its Shutdown does not wait for
// hijacked connections: call Drain first.
func (p *Proxy) Server() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           p,
		BaseContext:       func(net.Listener) context.Context { return p.work.base },
		ReadHeaderTimeout: headerTime,
		WriteTimeout:      writeTime, // of each write: the handler extends it
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: mostStreams, WriteByteTimeout: writeTime},
		TLSConfig:         p.config.TLS,
		ErrorLog:          silent(),
	}
}

// silent discards: what net/http would write could have a part of a request.
func silent() *log.Logger { return log.New(io.Discard, "", 0) } //nolint:forbidigo // the type that net/http takes

// Listen listens on a TCP address, such as 127.0.0.1:8787. If it is not of the loopback
// interface, Config must have a Token, or a TLS that requires certificates of clients;
// the error is a *fault.FieldError. With Config.TLS the listener speaks TLS.
func (p *Proxy) Listen(ctx context.Context, address string) (net.Listener, error) {
	own := p.config.TLS
	trusted := p.config.Token != "" || own != nil && own.ClientAuth == tls.RequireAndVerifyClientCert
	if _, _, err := net.SplitHostPort(address); err != nil || !trusted {
		if err := localhost.CheckAddress(address, "set a token, or require certificates of clients"); err != nil {
			return nil, &fault.FieldError{Owner: owner, Field: "address", Problem: err.Error()}
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && !trusted {
		_ = l.Close() // a name that is not what it says
		return nil, &fault.FieldError{Owner: owner, Field: "address", Problem: fmt.Sprintf("%.100q is not a loopback address: use 127.0.0.1", address)}
	}
	if own != nil {
		own = own.Clone()
		if len(own.NextProtos) == 0 {
			own.NextProtos = []string{"h2", "http/1.1"}
		}
		return tls.NewListener(l, own), nil
	}
	return l, nil
}
