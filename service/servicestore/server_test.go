package servicestore_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/headrace/headrace/internal/pipenet"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/grpcserve"
	"github.com/headrace/headrace/service/internal/split"
	"github.com/headrace/headrace/service/servicestore"
)

// decider is for servers of which only the store is used.
type decider struct{ grpcserve.Decider }

func (decider) Health(context.Context) decide.Health { return decide.Health{Status: "healthy"} }

// listen returns a listener and its address.
func listen(tb testing.TB, network string) (l net.Listener, address string) {
	tb.Helper()
	at, scheme := "127.0.0.1:0", "http://"
	if network == "unix" {
		at, scheme = filepath.Join(tb.TempDir(), "s"), "unix:"
	}
	l, err := net.Listen(network, at)
	require.NoError(tb, err)
	return l, scheme + l.Addr().String()
}

// serve serves a store on l until the returned function, which may be called twice, and at the latest to the end of
// the test.
func serve(tb testing.TB, l net.Listener, c grpcserve.Config) (stop func()) {
	tb.Helper()
	c.Decider, c.Log = decider{}, slog.New(slog.DiscardHandler)
	s, server := split.New(l, split.Config{}), grpcserve.New(c)
	done := make(chan error, 2)
	go func() { done <- s.Serve() }()
	go func() { done <- server.Serve(s.GRPC()) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		server.Shutdown(ctx)
		_ = s.Close()
		for range 2 {
			assert.NoError(tb, <-done)
		}
	}
	tb.Cleanup(stop)
	return stop
}

// open returns a client that is closed with the test.
func open(tb testing.TB, address string, options ...servicestore.Option) *servicestore.Store {
	tb.Helper()
	s, err := servicestore.Open(address, options...)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

// openIn is open for a server in the same bubble of testing/synctest.
func openIn(t *testing.T, l *pipenet.Listener, options ...servicestore.Option) *servicestore.Store {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///pipe", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, at string) (net.Conn, error) { return l.Dial(ctx, "", at) }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	s := open(t, "http://127.0.0.1:1", options...)
	servicestore.Over(s, conn)
	return s
}

var _ quota.Store = (*servicestore.Store)(nil)

// forGood is longer than any test waits.
const forGood = time.Minute
