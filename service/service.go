package service

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/quota"
)

// Config says what a Server serves. File or Text is required.
type Config struct {
	// File is the path of the YAML file, which is watched.
	File string
	// Text is a configuration that never changes, instead of File.
	Text []byte
	// Open opens the store that the file names. Nil opens memory only.
	Open func(ctx context.Context, s Storage) (quota.Store, error)
	// TLS is the configuration of the listener. If it requires and verifies client
	// certificates, no token is needed to listen on an address other than loopback.
	TLS *tls.Config
	// Insecure allows an address other than loopback without tokens or client certificates.
	Insecure bool
	// Hosts are additional names that a Host header may have.
	Hosts []string
	// Log receives reloads, outages and failures; nil discards them.
	Log *slog.Logger
	// Clock replaces the real clock in tests.
	Clock clockwork.Clock
}

// Storage is what the file says about the store.
type Storage struct {
	Address     string        // such as memory, sqlite:/var/lib/limits.db or redis://localhost:6379/0
	PoolSize    int           // connections; 0 means the default of the store
	Timeout     time.Duration // of one operation
	DialTimeout time.Duration // of a connection
}

// Server serves limits. It is safe for concurrent use. Close it.
type Server struct{}

// New reads the configuration and opens the store. It does not wait for the store.
// Problems of the configuration are joined, each a *fault.FieldError.
func New(ctx context.Context, c Config) (*Server, error) {
	_, _ = ctx, c
	return nil, errors.New("service: not built yet")
}

// Handler returns the REST API without TLS, limits on connections, and gRPC.
func (s *Server) Handler() http.Handler { return http.NotFoundHandler() }

// Listen listens on a TCP address, or on a Unix socket given as unix:PATH. An address
// other than loopback requires tokens, client certificates or Config.Insecure; the
// error is a *fault.FieldError.
func (s *Server) Listen(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// Serve serves REST and gRPC on l until ctx ends. It then lets requests in progress end
// for up to ten seconds. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	<-ctx.Done()
	return l.Close()
}

// Reload reads the file again now. If it is invalid, the limits stay as they are and
// the error is that of New.
func (s *Server) Reload(ctx context.Context) error { return ctx.Err() }

// Close stops watching the file, and closes the store if it has a method Close. It may
// be called more than once. Let Serve return before.
func (s *Server) Close() error { return nil }
