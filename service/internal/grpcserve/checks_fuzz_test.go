package grpcserve_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/grpcserve"
	"github.com/headrace/headrace/service/internal/rules"
	pb "github.com/headrace/headrace/service/ratelimitpb"
)

// FuzzRateLimitService sends messages of any bytes: each has an answer or an error of the caller, and takes at most what
// its limit holds.
func FuzzRateLimitService(f *testing.F) {
	add := func(kind uint8, m proto.Message) {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(kind, b)
	}
	check := &pb.Check{Identifier: "a", Resource: "x", Tokens: 3}
	odd := &pb.Check{Scope: "trial", Resource: "x", Tokens: -1 << 63, Metadata: map[string]string{"trial": "b"}, DryRun: true}
	add(0, &pb.CheckRateLimitRequest{Check: check})
	add(0, &pb.CheckRateLimitRequest{Check: odd})
	add(0, &pb.CheckRateLimitRequest{})
	add(1, &pb.CheckAllRequest{Checks: []*pb.Check{check, nil, odd}})
	add(1, &pb.CheckAllRequest{Checks: []*pb.Check{check, check, check, check}})
	add(2, &pb.BatchCheckRateLimitRequest{Checks: []*pb.Check{check, nil, odd}})
	add(3, &pb.AcquireRequest{Checks: []*pb.Check{check}, MaxWait: durationpb.New(-time.Second)})
	add(3, &pb.AcquireRequest{Checks: []*pb.Check{check}, MaxWait: &durationpb.Duration{Seconds: 1 << 62, Nanos: -1}})
	add(4, &pb.SettleRequest{Permit: "AdrWo7ANCENMVjY3TVVTATPE", Actual: []int64{1, -1 << 63}})
	add(5, &pb.CancelRequest{Permit: "AdrWo7ANCENM"})
	config, err := rules.Parse([]byte("rate_limits: [{scope: trial, capacity: 3, refill_rate: 0}]\ndefault: {capacity: 10, refill_rate: 0.001}\nruntime: {timeout: 30s}"))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		store := quota.NewMemoryStore(nil)
		d, err := decide.New(decide.Options{Store: store, Config: config})
		require.NoError(t, err)
		t.Cleanup(d.Close)
		c := pb.NewRateLimitServiceClient(serve(t, grpcserve.Config{Decider: d, Store: d.Store()}))
		calls := []func() error{
			func() error {
				m := &pb.CheckRateLimitRequest{}
				return send(b, m, func() error { _, err := c.CheckRateLimit(t.Context(), m); return err })
			},
			func() error {
				m := &pb.CheckAllRequest{}
				return send(b, m, func() error { _, err := c.CheckAll(t.Context(), m); return err })
			},
			func() error {
				m := &pb.BatchCheckRateLimitRequest{}
				return send(b, m, func() error { _, err := c.BatchCheckRateLimit(t.Context(), m); return err })
			},
			func() error {
				m := &pb.AcquireRequest{}
				return send(b, m, func() error {
					if d := m.GetMaxWait(); d == nil || d.IsValid() && d.AsDuration() > 0 && d.AsDuration() <= time.Minute {
						m.MaxWait = durationpb.New(0) // it would wait
					}
					_, err := c.Acquire(t.Context(), m)
					return err
				})
			},
			func() error {
				m := &pb.SettleRequest{}
				return send(b, m, func() error { _, err := c.Settle(t.Context(), m); return err })
			},
			func() error {
				m := &pb.CancelRequest{}
				return send(b, m, func() error { _, err := c.Cancel(t.Context(), m); return err })
			},
		}
		err = calls[int(kind)%len(calls)]()
		switch status.Code(err) {
		case codes.OK, codes.InvalidArgument, codes.NotFound:
		default:
			t.Errorf("%v", err)
		}
		for key, err := range store.Keys(t.Context(), "") {
			require.NoError(t, err)
			state, err := store.Look(t.Context(), key)
			require.NoError(t, err)
			for _, use := range state.Uses {
				require.LessOrEqual(t, use.Spent, use.Window.Max(), "%s has more taken than it holds", key)
			}
		}
	})
}
