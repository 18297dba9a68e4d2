package service

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/netutil"

	"github.com/headrace/headrace/service/internal/grpcserve"
	"github.com/headrace/headrace/service/internal/rest"
	"github.com/headrace/headrace/service/internal/split"
)

// front serves REST and gRPC on one listener.
type front struct {
	rest http.Handler
	grpc *grpcserve.Server
}

func (s *Server) front() *front {
	return &front{s.rest, grpcserve.New(grpcserve.Config{
		Decider: s.decider, Store: s.store, Register: s.envoy.Register, Log: s.log, Tracer: s.tracer,
		Authorize: func(values []string) bool {
			tokens := *s.tokens.Load()
			return len(tokens) == 0 || rest.Allowed(tokens, values)
		},
	})}
}

// ServeHTTP serves what net/http has received: a proxy may send both kinds of requests on one connection.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		f.grpc.ServeHTTP(w, r)
		return
	}
	f.rest.ServeHTTP(w, r)
}

// serve serves both until shutdown or an error of l, which is closed.
func (f *front) serve(server *http.Server, l net.Listener) error {
	s := split.New(l, split.Config{Timeout: headerTime})
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(netutil.LimitListener(s.HTTP(), mostConns)) }()
	go func() { ended <- f.grpc.Serve(netutil.LimitListener(s.GRPC(), mostConns)) }()
	err := s.Serve()
	_ = s.Close()
	if err == nil {
		err = net.ErrClosed
	}
	for range 2 {
		if e := <-ended; e != nil && !errors.Is(e, http.ErrServerClosed) && !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// shutdown lets requests end until ctx ends.
func (f *front) shutdown(ctx context.Context, server *http.Server) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.grpc.Shutdown(ctx)
	}()
	err := server.Shutdown(ctx)
	<-ended
	return err
}
