package grpcserve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/tracing"
	pb "github.com/headrace/headrace/service/ratelimitpb"
)

const (
	maxMessage    = 4 << 20 // bytes of a request
	maxHeader     = 16 << 10
	maxStreams    = 1024    // of a connection
	window        = 1 << 20 // bytes; of one size, gRPC need not measure the connection, which takes a ping a request
	unaryTimeout  = 10 * time.Second
	callerTimeout = time.Second      // of what a caller without a token sends
	defaultOpen   = 4096             // streams of one method
	mostListings  = 64               // streams of Keys: a store in memory makes a list of all keys for each
	workers       = 32               // goroutines that are kept for calls: a new one first has to grow its stack
	handshake     = 10 * time.Second // for the preface and the settings of a connection
	pingAfter     = 30 * time.Second // without anything from the client
	pingTimeout   = 10 * time.Second
	leastPings    = 5 * time.Second // between two of a client
	idleTimeout   = 15 * time.Minute
	healthRefresh = time.Second
)

// Decider is what is needed of decide.Decider.
type Decider interface {
	Check(ctx context.Context, c decide.Check) (decide.Result, error)
	CheckAll(ctx context.Context, cs []decide.Check) (decide.All, error)
	Batch(ctx context.Context, cs []decide.Check) ([]decide.Outcome, error)
	Acquire(ctx context.Context, cs []decide.Check, maxWait time.Duration) (decide.All, error)
	Settle(ctx context.Context, permit string, actual []int64) error
	Cancel(ctx context.Context, permit string) error
	Health(ctx context.Context) decide.Health
}

var _ Decider = (*decide.Decider)(nil)

// Config is the configuration of a Server.
type Config struct {
	Decider Decider
	Store   quota.Store // of StoreService
	// Authorize reports whether a caller with these values of the header Authorization may call. Nil allows all.
	// Health checks are not asked for one.
	Authorize func(values []string) bool
	// Register adds other services; nil adds none.
	Register func(grpc.ServiceRegistrar)
	// MaxStreams is how many streams of one method may be open; 0 means 4,096. Of Keys there are at most 64.
	MaxStreams int
	Log        *slog.Logger // not nil
	// Tracer makes spans of unary calls but health checks; nil makes none.
	Tracer *tracing.Tracer
}

// Server serves gRPC. Shut it down.
type Server struct {
	config   Config
	grpc     *grpc.Server
	stopping context.Context //nolint:containedctx // it ends with Shutdown
	stop     context.CancelFunc
	once     sync.Once
	began    time.Time
	warned   atomic.Int64             // nanoseconds after began; 0: never
	streams  map[string]chan struct{} // the streams of each method, which have room here
}

// New returns a server.
func New(c Config) *Server {
	s := &Server{config: c, began: time.Now()}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeader), grpc.MaxConcurrentStreams(maxStreams),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.ConnectionTimeout(handshake),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPings, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout, MaxConnectionIdle: idleTimeout}),
		grpc.NumStreamWorkers(workers), grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream), grpc.InTapHandle(s.begin),
	)
	pb.RegisterRateLimitServiceServer(s.grpc, &checks{server: s})
	pb.RegisterStoreServiceServer(s.grpc, &store{server: s})
	grpc_health_v1.RegisterHealthServer(s.grpc, &health{server: s})
	if c.Register != nil {
		c.Register(s.grpc)
	}
	reflection.Register(s.grpc)
	s.streams = map[string]chan struct{}{}
	for name, service := range s.grpc.GetServiceInfo() {
		for _, m := range service.Methods {
			if m.IsServerStream || m.IsClientStream {
				path, most := "/"+name+"/"+m.Name, cmp.Or(c.MaxStreams, defaultOpen)
				if path == pb.StoreService_Keys_FullMethodName {
					most = min(most, mostListings)
				}
				s.streams[path] = make(chan struct{}, most)
			}
		}
	}
	return s
}

// begin bounds how long a call takes from its headers on: its message has not been read yet. It refuses nothing, since
// gRPC does not release the timer of a call that is refused here.
func (s *Server) begin(ctx context.Context, info *tap.Info) (context.Context, error) {
	timeout := unaryTimeout
	switch {
	case !s.allowed(ctx):
		timeout = callerTimeout
	case info.FullMethodName == pb.RateLimitService_Acquire_FullMethodName:
		timeout += longestWait
	}
	if s.streams[info.FullMethodName] == nil {
		ctx, cancel := context.WithTimeout(ctx, timeout) //nolint:gosec // gRPC ends its parent with the call
		_ = cancel
		return ctx, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	return context.WithValue(ctx, openingKey{}, time.AfterFunc(timeout, cancel)), nil
}

// openingKey is the key of the timer that ends a stream without a first message.
type openingKey struct{}

// opening is a stream before its first message.
type opening struct {
	grpc.ServerStream

	timer *time.Timer
}

// RecvMsg implements grpc.ServerStream.
func (o *opening) RecvMsg(m any) error {
	err := o.ServerStream.RecvMsg(m)
	o.timer.Stop()
	return err
}

// Serve serves connections of l until Shutdown, which closes l, or until l is closed. TLS is the listener's.
func (s *Server) Serve(l net.Listener) error {
	err := s.grpc.Serve(l)
	if errors.Is(err, grpc.ErrServerStopped) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// ServeHTTP serves a request of gRPC that a server of HTTP/2 has received.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.grpc.ServeHTTP(w, r) }

// Shutdown takes no new calls, ends streams, and lets other calls end until ctx ends. It may be called twice.
func (s *Server) Shutdown(ctx context.Context) {
	s.once.Do(func() {
		s.stop()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.grpc.GracefulStop()
		}()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		s.grpc.Stop()
		<-ended
	})
}

// unary bounds, authorizes and recovers a call.
func (s *Server) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	if err := s.authorize(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	if !isHealth(info.FullMethod) {
		var end func(error)
		ctx, end = s.config.Tracer.RPC(ctx, info.FullMethod)
		defer func() { end(err) }()
	}
	defer func() {
		if v := recover(); v != nil {
			err = s.fail(ctx, panics.Error(v))
		}
	}()
	// Through net/http, begin is not called.
	if end, ok := ctx.Deadline(); info.FullMethod != pb.RateLimitService_Acquire_FullMethodName && (!ok || time.Until(end) > unaryTimeout) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, unaryTimeout)
		defer cancel()
	}
	return handle(ctx, request)
}

// stream authorizes and recovers a stream, which ends with Shutdown.
func (s *Server) stream(server any, of grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	ctx := of.Context()
	if err := s.authorize(ctx, info.FullMethod); err != nil {
		return err
	}
	defer func() {
		if v := recover(); v != nil {
			err = s.fail(ctx, panics.Error(v))
		}
	}()
	room := s.streams[info.FullMethod]
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
	default:
		return status.Errorf(codes.ResourceExhausted, "there are %d streams of this kind already: try again later", cap(room))
	}
	if timer, ok := ctx.Value(openingKey{}).(*time.Timer); ok {
		of = &opening{of, timer}
	}
	return handle(server, of)
}

func (s *Server) authorize(ctx context.Context, method string) error {
	if !strings.HasPrefix(method, standardHealth) && !s.allowed(ctx) {
		return status.Error(codes.Unauthenticated, "the bearer token is missing or unknown: send authorization: Bearer TOKEN")
	}
	return nil
}

// standardHealth is what the methods of the standard health service begin with.
const standardHealth = "/grpc.health.v1.Health/"

func isHealth(method string) bool {
	return strings.HasPrefix(method, standardHealth) || method == pb.RateLimitService_HealthCheck_FullMethodName
}

func (s *Server) allowed(ctx context.Context) bool {
	return s.config.Authorize == nil || s.config.Authorize(metadata.ValueFromIncomingContext(ctx, "authorization"))
}
