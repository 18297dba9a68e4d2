package providertest

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is a fake provider. [New] makes one; it must be closed. All methods are
// safe for concurrent use.
type Server struct {
	config   Config
	listener net.Listener
	http     *http.Server
	client   *http.Client
	closing  chan struct{}  // closed by Close; ends latencies
	wg       sync.WaitGroup // the accept loop, connections, and handlers past their body

	mu      sync.Mutex // guards all below
	gate    *gate
	book    book
	started bool
	closed  bool
}

// New validates the configuration and returns a server that has bound a free
// port on the loopback. It joins a [*ConfigError] for each problem, or returns
// the error of binding. No goroutine runs before [Server.URL] is asked for.
func New(config Config) (*Server, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // binds at once, nothing to cancel
	if err != nil {
		return nil, fmt.Errorf("providertest: %w", err)
	}
	if config.Reply == nil {
		config.Reply = Extract
	}
	if config.Latency == nil {
		config.Latency = Fixed(0)
	}
	s := &Server{
		config:   config,
		listener: listener,
		client:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 10}},
		closing:  make(chan struct{}),
		gate:     newGate(config.Limits, config.RefusalsCount, time.Now()),
	}
	s.http = &http.Server{
		Handler:           s.Handler(),
		ConnState:         s.track,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	return s, nil
}

// URL returns the server's base, "http://127.0.0.1:port", without a final slash.
// SDKs that ask for a base URL want "/v1" added. The first call starts serving
// the port; after Close it is refused.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started && !s.closed {
		s.started = true
		s.wg.Go(func() { _ = s.http.Serve(s.listener) }) // ends with http.ErrServerClosed
	}
	return "http://" + s.listener.Addr().String()
}

// Client returns an HTTP client for URL, always the same one: it keeps up to
// 1,024 connections alive, which Close drops, and uses no proxy.
func (s *Server) Client() *http.Client { return s.client }

// SetLimits replaces the limits at once, in place. Calls in flight stay and
// count; the bucket keeps the requests it holds, up to its new Burst; the window
// keeps its count; a limit that was not there before starts unspent. Limits that
// cannot be used change nothing and return a joined [*ConfigError] for each
// problem.
func (s *Server) SetLimits(limits Limits) error {
	if err := limits.validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate.setLimits(limits, time.Now())
	return nil
}

// Ledger returns a copy of everything that has arrived so far. The server keeps
// every arrival, about 300 bytes and its key, until it is itself dropped. A
// client that hangs up is noticed a little later: Close first for the last word.
func (s *Server) Ledger() Ledger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.book.snapshot()
}

// Counts returns the ledger's counts without copying its arrivals.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.book.counts
}
