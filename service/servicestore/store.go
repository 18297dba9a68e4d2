package servicestore

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/quota"
	pb "github.com/headrace/headrace/service/ratelimitpb"
)

const (
	defaultTimeout = time.Second
	firstRetry     = 50 * time.Millisecond // of a connection
	lastRetry      = time.Second
	pingAfter      = 20 * time.Second // without anything from the server
	pingTimeout    = 5 * time.Second
	window         = 1 << 20 // bytes; of one size, gRPC need not measure the connection, which takes a ping a request
)

type config struct {
	token   string
	tls     *tls.Config
	timeout time.Duration
}

// Option is an option of Open.
type Option func(*config)

// WithToken sets the bearer token that the server requires. It needs https://, a loopback address or a Unix socket.
func WithToken(token string) Option { return func(c *config) { c.token = token } }

// WithTLS sets the configuration of TLS, such as one with the certificates of a private authority and the
// certificate of this client. By default the server's certificate is verified by those of the system.
func WithTLS(t *tls.Config) Option { return func(c *config) { c.tls = t } }

// WithTimeout sets how long a call may take before it fails. The default is 1 second.
func WithTimeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// Store is a quota.Store in a server. It is safe for concurrent use; any number of processes can share the limits in
// the server. It is also a quota.Inspector and a quota.Waker if the store of the server is.
type Store struct {
	config
	conn *grpc.ClientConn
	stub pb.StoreServiceClient

	shapes  shapes
	takes   merger[*shape, taken]
	ends    merger[*pb.Ended, error]
	cancels merger[*pb.Ticket, error]
	watches watches

	life context.Context //nolint:containedctx // it ends with Close
	end  context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex // guards closed, and wg.Add against Close
	closed bool
}

// Open returns the store of the server at an address: https://HOST:PORT, http://HOST:PORT without TLS, or unix:PATH. It
// does not wait for the server. Its errors are *fault.FieldError, joined.
func Open(address string, opts ...Option) (*Store, error) {
	s := &Store{config: config{timeout: defaultTimeout}}
	p := invalid.Problems{Owner: "servicestore"}
	invalid.Options(&p, opts, &s.config)
	at := endpointOf(address, &p)
	at.check(&s.config, &p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(at.transport(s.tls)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstRetry, Multiplier: 2, Jitter: 0.2, MaxDelay: lastRetry},
			MinConnectTimeout: s.timeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithDisableServiceConfig(),
	}
	if s.token != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(bearer(s.token)))
	}
	conn, err := grpc.NewClient(at.target, dial...)
	if err != nil {
		p.Addf("Address", "gRPC does not understand it: write %s", addressForms)
		return nil, p.Err()
	}
	s.conn, s.stub = conn, pb.NewStoreServiceClient(conn)
	s.life, s.end = context.WithCancel(context.Background())
	s.takes = merger[*shape, taken]{store: s, weight: func(h *shape) int { return h.weight }, send: s.sendTakes, late: s.giveBack}
	s.ends = merger[*pb.Ended, error]{store: s, weight: func(e *pb.Ended) int { return weightOf(e.GetTicket()) }, send: s.sendEnds}
	s.cancels = merger[*pb.Ticket, error]{store: s, weight: weightOf, send: s.sendCancels}
	return s, nil
}

// Close ends calls that are in progress with an error, waits for them, and closes the connection. It may be called more
// than once. Leases stay until they lapse.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.wg.Wait()
	if first {
		return s.conn.Close()
	}
	return nil
}

var errClosed = fmt.Errorf("servicestore: %w", inflight.ErrStoreClosed)

// background runs f in a goroutine that Close waits for, and reports whether it does: not after Close.
func (s *Store) background(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Go(f)
	return true
}

// bounded is ctx with the timeout of a call, which Close ends.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	stop := context.AfterFunc(s.life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// call makes a call that is not merged.
func (s *Store) call(ctx context.Context, f func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timed, cancel := s.bounded(ctx)
	defer cancel()
	err := f(timed)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return s.fault(err)
}

var (
	_ quota.Store     = (*Store)(nil)
	_ quota.Inspector = (*Store)(nil)
	_ quota.Waker     = (*Store)(nil)
)
