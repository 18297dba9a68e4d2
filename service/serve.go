package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/localhost"
)

// Bounds on what clients may hold.
const (
	headerTime  = 5 * time.Second
	readTime    = 10 * time.Second
	answerTime  = 30 * time.Second // an acquire extends it by what it waits
	idleTime    = 2 * time.Minute
	headerBytes = 32 << 10
	mostStreams = 250 // of one HTTP/2 connection
	mostConns   = 16_384
	drainTime   = 10 * time.Second
	cancelTime  = time.Second // for the responses of cancelled requests
	unixScheme  = "unix:"
	socketMode  = 0o660
)

// Listen listens on a TCP address, such as 127.0.0.1:8790, or on a Unix socket given as
// unix:PATH, which the owner and the group of the process may use. A TCP address other
// than loopback requires tokens, client certificates or Config.Insecure; the error is a
// *fault.FieldError. With Config.TLS the listener speaks TLS.
func (s *Server) Listen(ctx context.Context, address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, unixScheme); ok {
		return s.listenUnix(ctx, path)
	}
	trusted := s.trusted || len(*s.tokens.Load()) > 0
	if _, _, err := net.SplitHostPort(address); err != nil || !trusted {
		if err := localhost.CheckAddress(address, "require bearer tokens or client certificates"); err != nil {
			return nil, &fault.FieldError{Owner: owner, Field: "address", Problem: err.Error()}
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && !trusted {
		_ = l.Close() // a name that is not what it says
		return nil, &fault.FieldError{Owner: owner, Field: "address", Problem: fmt.Sprintf("%.100q is not a loopback address: use 127.0.0.1", address)}
	}
	if own := s.config.TLS; own != nil {
		own = own.Clone()
		if len(own.NextProtos) == 0 {
			own.NextProtos = []string{"h2", "http/1.1"}
		}
		return tls.NewListener(l, own), nil
	}
	return l, nil
}

// listenUnix replaces the socket of a server that has died.
func (s *Server) listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if path == "" {
		return nil, &fault.FieldError{Owner: owner, Field: "address", Problem: "unix: has no path: give one such as unix:/run/headrace/limits.sock"}
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		dialed, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		c, err := (&net.Dialer{}).DialContext(dialed, "unix", path)
		if err == nil {
			_ = c.Close()
			return nil, &fault.FieldError{Owner: owner, Field: "address", Problem: "another process serves " + path}
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("service: %w", err), l.Close())
	}
	return l, nil
}

// Serve serves REST and gRPC on l until ctx ends. Then /readyz answers 503, requests in progress
// may end for ten seconds, and those that are left are cancelled. It closes l, and
// returns nil if ctx has ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	both := s.front()
	server := &http.Server{
		Handler: both, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes, Protocols: protocols,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: mostStreams, WriteByteTimeout: answerTime},
		ErrorLog:    log.New(io.Discard, "", 0), //nolint:forbidigo // what net/http would write could have a part of a request
		BaseContext: func(net.Listener) context.Context { return base },
	}
	ended := make(chan error, 1)
	go func() { ended <- both.serve(server, l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("service: %w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	timed, done := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer done()
	err := both.shutdown(timed, server)
	cancel()
	if err != nil {
		s.log.WarnContext(ctx, "requests were cancelled at the end", "after", drainTime)
		timed, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		_ = server.Shutdown(timed) // they are answered
		done()
		_ = server.Close()
	}
	if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		s.log.WarnContext(ctx, "the listener ended", "err", err)
	}
	return nil
}
