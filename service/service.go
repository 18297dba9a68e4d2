package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/envoy"
	"github.com/headrace/headrace/service/internal/meters"
	"github.com/headrace/headrace/service/internal/rest"
	"github.com/headrace/headrace/service/internal/rules"
	"github.com/headrace/headrace/service/internal/tracing"
)

const owner = "service"

// Config says what a Server serves. Exactly one of File and Text is required.
type Config struct {
	// File is the path of the YAML file. It is read again within a second after it
	// changed, and every minute.
	File string
	// Text is a configuration that never changes. Files that it names are relative to
	// the working directory.
	Text []byte
	// Open opens the store that the configuration names. Nil opens memory only. A store
	// with a method Close() error is closed by Server.Close.
	Open func(ctx context.Context, s Storage) (quota.Store, error)
	// TLS is the configuration of the listener. If it requires and verifies client
	// certificates of ClientCAs, no token is needed to listen on other addresses than loopback.
	TLS *tls.Config
	// Insecure allows an address other than loopback without tokens and without client
	// certificates, and any Host header.
	Insecure bool
	// Hosts are the names that a Host header may have besides localhost and IP
	// addresses, if neither tokens nor client certificates are required.
	Hosts []string
	// Group serves GET /v1/group, for clients that may use the API: a group.Handler. Its members
	// join by the address of the service. The program closes it after Serve has returned,
	// because Serve does not end the connections of members. Nil answers 404.
	Group http.Handler
	// TracerProvider makes a span of each check, settle, cancel and look at a limit, by REST, gRPC
	// and Envoy's protocol. A span continues the trace in the header traceparent of its
	// request, and has neither identifiers nor tokens. Nil makes none.
	TracerProvider trace.TracerProvider
	// Log receives reloads, outages and failures; nil discards them.
	Log *slog.Logger
	// Clock replaces the real clock in tests.
	Clock clockwork.Clock
}

// Storage is what the configuration says about the store.
type Storage struct {
	Address     string        // such as memory, sqlite:/var/lib/limits.db or redis://localhost:6379/0
	PoolSize    int           // connections; 0 means the default of the store
	Timeout     time.Duration // of one operation
	DialTimeout time.Duration // of a connection
}

// Server serves limits. It is safe for concurrent use. Close it.
type Server struct {
	config  Config
	log     *slog.Logger
	clock   clock.Clock
	store   quota.Store
	decider *decide.Decider
	meters  *meters.Meters
	envoy   *envoy.Service
	rest    *rest.Handler
	tracer  *tracing.Tracer
	trusted bool // client certificates or Config.Insecure

	tokens   atomic.Pointer[[][sha256.Size]byte]
	draining atomic.Bool

	mu     sync.Mutex // guards file; held while the configuration is read
	file   file
	stop   context.CancelFunc
	wg     sync.WaitGroup
	closed sync.Once
	err    error // of Close
}

// New reads the configuration and opens the store, but does not wait for the store to
// answer. Problems of the configuration are joined, each a *fault.FieldError.
func New(ctx context.Context, c Config) (_ *Server, err error) {
	p := invalid.Problems{Owner: owner}
	if (c.File == "") == (c.Text == nil) {
		p.Addf("File", "give either a file or a text")
	}
	for _, h := range c.Hosts {
		if h == "" || strings.ContainsAny(h, "/@* :") {
			p.Addf("Hosts", "%.100q is not a host name without a port, such as limits.internal", h)
		}
	}
	if t := c.TLS; t != nil && t.ClientAuth >= tls.VerifyClientCertIfGiven && t.ClientCAs == nil {
		p.Addf("TLS", "its ClientCAs is nil, so every public authority could issue a client certificate: set it to the authorities of your clients")
	}
	if c.TracerProvider != nil && invalid.Nil(c.TracerProvider) {
		p.Addf("TracerProvider", "a nil %T: leave it out for no spans", c.TracerProvider)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	read, err := c.read()
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), clock: clock.New(c.Clock), meters: meters.New(), tracer: tracing.New(c.TracerProvider)}
	s.trusted = c.Insecure || c.TLS != nil && c.TLS.ClientAuth == tls.RequireAndVerifyClientCert
	if s.store, err = open(ctx, &c, &read.config.Runtime); err != nil {
		return nil, err
	}
	s.decider, err = decide.New(decide.Options{
		Store: s.store, Config: read.config, Clock: c.Clock, See: s.meters.See,
		Shift: func(jump time.Duration) {
			s.log.Warn("the clock of the store has jumped: checks are rejected", "jump", jump)
		},
		Outage: func(err error) {
			if err != nil {
				s.log.Warn("the store is unavailable", "policy", read.config.Runtime.Outage, "err", err)
			} else {
				s.log.Info("the store is available again")
			}
		},
		Damage: func(err error) {
			s.log.Warn("the store cannot read some limits: their checks fail until they are reset", "err", err)
		},
	})
	if err != nil {
		return nil, errors.Join(err, closeStore(s.store))
	}
	s.envoy, err = envoy.New(envoy.Options{Store: s.decider.Store(), Settings: read.envoy.settings})
	if err != nil {
		s.decider.Close()
		return nil, errors.Join(err, closeStore(s.store))
	}
	s.tokens.Store(&read.config.Tokens)
	s.file = file{read: read, since: s.now()}
	s.file.note(&read)
	s.meters.Watch(s.decider, s.broken) //nolint:contextcheck // what it reads waits for nothing
	s.meters.WatchEnvoy(s.envoy)
	s.rest = rest.New(rest.Options{
		Decider: s.decider, Tokens: func() [][sha256.Size]byte { return *s.tokens.Load() }, Local: !s.trusted, Hosts: c.Hosts,
		Config: func(ctx context.Context) any { return s.describe(ctx) }, Metrics: s.meters.Handler(), Group: c.Group, Log: s.log, Tracer: s.tracer, Draining: s.draining.Load,
	})
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if c.File != "" {
		s.wg.Go(func() { s.watch(life) })
	}
	return s, nil
}

func open(ctx context.Context, c *Config, r *rules.Runtime) (quota.Store, error) {
	if c.Open == nil {
		if r.Store != rules.Memory {
			return nil, &fault.FieldError{Owner: owner, Field: "Open", Problem: "it is nil, but the configuration names a store other than memory: set it to a function that opens stores"}
		}
		return quota.NewMemoryStore(c.Clock), nil
	}
	store, err := c.Open(ctx, Storage{r.Store, r.Redis.PoolSize, r.Timeout, r.Redis.DialTimeout})
	switch {
	case err != nil:
		return nil, fmt.Errorf("service: runtime.store: %w", err)
	case invalid.Nil(store):
		return nil, &fault.FieldError{Owner: owner, Field: "Open", Problem: "it returned neither a store nor an error"}
	}
	return store, nil
}

func closeStore(s quota.Store) error {
	if c, ok := s.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}

func (s *Server) now() time.Time { return s.clock.Underlying().Now() }

// Handler returns the REST API alone, without the bounds on connections that Serve sets.
func (s *Server) Handler() http.Handler { return s.rest }

// Close stops watching the file, ends checks that wait, and closes the store if it has a
// method Close. It may be called more than once. Call it after Serve has returned.
func (s *Server) Close() error {
	s.closed.Do(func() {
		s.stop()
		s.wg.Wait()
		s.decider.Close()
		s.err = closeStore(s.store)
	})
	return s.err
}
