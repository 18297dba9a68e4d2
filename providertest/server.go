package providertest

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is a fake provider. All methods are safe for concurrent use.
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

// New returns a server that has bound a free port on the loopback interface. Its error joins one for
// each invalid field of config, or is that of binding. No goroutine runs before Server.URL is called.
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

// URL returns the base URL, "http://127.0.0.1:port". SDKs usually need "/v1" added. The first call
// starts to serve the port, with goroutines that wait for the network. It is a method because a test in a
// synctest bubble must not have those: it uses Transport. After Close connections are refused.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started && !s.closed {
		s.started = true
		s.wg.Go(func() { _ = s.http.Serve(s.listener) }) // ends with http.ErrServerClosed
	}
	return "http://" + s.listener.Addr().String()
}

// Client returns an HTTP client for URL, always the same one. It keeps up to 1,024 connections alive,
// which Close drops, and uses no proxy.
func (s *Server) Client() *http.Client { return s.client }

// SetLimits replaces the limits at once. Calls in flight continue and count; the bucket keeps its
// requests, up to the new Burst; the window keeps its count; a new limit starts unspent. Invalid
// limits change nothing and return one error for each field.
func (s *Server) SetLimits(limits Limits) error {
	if err := limits.validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate.setLimits(limits, time.Now())
	return nil
}

// Ledger returns a copy of all arrivals so far. The server keeps about 300 bytes and the key of each.
// A client that hangs up is noticed a little later: Close first for the final state.
func (s *Server) Ledger() Ledger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.book.snapshot()
}

// Counts returns the counts of the ledger.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.book.counts
}
