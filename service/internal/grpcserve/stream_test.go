package grpcserve_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/grpcserve"
	pb "github.com/headrace/headrace/service/ratelimitpb"
)

// A caller without a token does not hold a call by sending no message, nor does one of a stream.
func TestCallsWithoutAMessage(t *testing.T) {
	conn := serve(t, grpcserve.Config{Decider: fixed{}, Store: quota.NewMemoryStore(nil), Authorize: func([]string) bool { return false }})
	for _, method := range []string{
		pb.RateLimitService_CheckRateLimit_FullMethodName, pb.StoreService_Take_FullMethodName, pb.StoreService_Changed_FullMethodName,
		healthpb.Health_Check_FullMethodName, healthpb.Health_Watch_FullMethodName,
	} {
		t.Run(method, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
			require.NoError(t, err)
			require.Error(t, s.RecvMsg(&pb.Taken{}))
			require.NoError(t, ctx.Err(), "the server has ended it")
		})
	}
}

// down is a store that is unavailable.
type down struct{ quota.Store }

func (down) Take(context.Context, quota.Request) (quota.Grant, error) {
	return quota.Grant{}, errors.New("dial 10.1.2.3: refused")
}

// An outage does not fill the log.
func TestLogOfAnOutage(t *testing.T) {
	var lines atomic.Int64
	log := slog.New(slog.NewTextHandler(writer(func(b []byte) { lines.Add(1) }), nil))
	c := pb.NewStoreServiceClient(serve(t, grpcserve.Config{Decider: fixed{}, Store: down{}, Log: log}))
	began := time.Now()
	answer, err := c.Take(t.Context(), &pb.TakeRequest{Takes: []*pb.Take{{Demands: []*pb.Demand{{Key: "a"}}, Calls: 1000}}})
	require.NoError(t, err)
	require.Equal(t, "the store is unavailable", answer.GetTaken()[0].GetGrants()[999].GetError().GetMessage())
	require.Positive(t, lines.Load())
	require.LessOrEqual(t, lines.Load(), int64(time.Since(began)/time.Second)+1)
}

type writer func(b []byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// A stream that has begun has no timeout.
func TestWatchOutlivesItsOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := serve(t, grpcserve.Config{Decider: fixed{}, Store: quota.NewMemoryStore(nil), Authorize: func([]string) bool { return false }})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		watch, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{})
		require.NoError(t, err)
		_, err = watch.Recv()
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() {
			_, err := watch.Recv()
			ended <- err
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, ended)
		cancel()
		require.Equal(t, codes.Canceled, status.Code(<-ended))
	})
}

// Streams of a kind are bounded, and make room when they end.
func TestStreamsAreBounded(t *testing.T) {
	c := healthpb.NewHealthClient(serve(t, grpcserve.Config{Decider: fixed{}, Store: quota.NewMemoryStore(nil), MaxStreams: 2}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch := func(ctx context.Context) error {
		watch, err := c.Watch(ctx, &healthpb.HealthCheckRequest{})
		require.NoError(t, err)
		_, err = watch.Recv()
		return err
	}
	require.NoError(t, watch(ctx))
	require.NoError(t, watch(ctx))
	require.Equal(t, codes.ResourceExhausted, status.Code(watch(t.Context())))
	cancel()
	require.Eventually(t, func() bool { return watch(t.Context()) == nil }, time.Minute, time.Millisecond)
}

// listing is a store with listings that do not end by themselves.
type listing struct {
	quota.MemoryStore

	began chan struct{}
}

func (l listing) Keys(ctx context.Context, _ string) iter.Seq2[string, error] {
	return func(func(string, error) bool) {
		l.began <- struct{}{}
		<-ctx.Done()
	}
}

// Clients that list all keys and do not read them take bounded memory.
func TestListingsAreBounded(t *testing.T) {
	const most = 64
	store := listing{quota.NewMemoryStore(nil), make(chan struct{}, most+1)}
	c := pb.NewStoreServiceClient(serve(t, grpcserve.Config{Decider: fixed{}, Store: store}))
	for range most {
		_, err := c.Keys(t.Context(), &pb.KeysRequest{})
		require.NoError(t, err)
		<-store.began
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	another, err := c.Keys(ctx, &pb.KeysRequest{})
	require.NoError(t, err)
	_, err = another.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
}
