package grpcserve_test

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/grpcserve"
	"github.com/headrace/headrace/service/internal/wire"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/throttle"
)

// fixed is a decider that says the same to all.
type fixed struct{ grpcserve.Decider }

func (fixed) Health(context.Context) decide.Health { return decide.Health{Status: "healthy"} }

// serve serves a store in memory and returns a connection.
func serve(tb testing.TB, c grpcserve.Config) *grpc.ClientConn {
	tb.Helper()
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	l := bufconn.Listen(1 << 20)
	s := grpcserve.New(c)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///buffer", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, conn.Close())
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx)
		s.Shutdown(ctx)
		require.NoError(tb, <-served)
	})
	return conn
}

// FuzzStoreService sends messages of any bytes: each has an answer or an error of the caller, and the limits of others
// hold.
func FuzzStoreService(f *testing.F) {
	hour := []quota.Demand{{Key: "mine", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}}}}
	add := func(kind uint8, m proto.Message) {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(kind, b)
	}
	ticket := wire.PutTicket(quota.Ticket{ID: "1", At: 1, Token: 1, Demands: hour})
	add(0, &pb.TakeRequest{Takes: []*pb.Take{{Demands: wire.PutDemands(hour), LeaseNanos: -1, Calls: 3, Uses: true}}})
	add(0, &pb.TakeRequest{Takes: []*pb.Take{{Calls: -1}}})
	add(0, &pb.TakeRequest{Takes: []*pb.Take{nil, {Calls: 1 << 30}}})
	add(1, &pb.EndRequest{Ended: []*pb.Ended{{Ticket: ticket, Settled: true, Actual: []*pb.Cost{{Requests: -1 << 63}}}}})
	add(2, &pb.CancelTicketsRequest{Tickets: []*pb.Ticket{ticket, nil}})
	add(3, &pb.RenewRequest{Tickets: []*pb.Ticket{ticket}, LeaseNanos: 1 << 62})
	add(4, &pb.CooldownRequest{Key: "a", Nanos: 1 << 62})
	add(5, &pb.LookRequest{Key: "mine"})
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		memory := quota.NewMemoryStore(nil)
		_, err := memory.Take(t.Context(), quota.Request{Demands: []quota.Demand{{Key: "service/limit/theirs", Limits: hour[0].Limits}}})
		require.NoError(t, err)
		c := pb.NewStoreServiceClient(serve(t, grpcserve.Config{Decider: fixed{}, Store: memory}))
		calls := []func() error{
			func() error {
				m := &pb.TakeRequest{}
				return send(b, m, func() error { _, err := c.Take(t.Context(), m); return err })
			},
			func() error {
				m := &pb.EndRequest{}
				return send(b, m, func() error { _, err := c.End(t.Context(), m); return err })
			},
			func() error {
				m := &pb.CancelTicketsRequest{}
				return send(b, m, func() error { _, err := c.Cancel(t.Context(), m); return err })
			},
			func() error {
				m := &pb.RenewRequest{}
				return send(b, m, func() error { _, err := c.Renew(t.Context(), m); return err })
			},
			func() error {
				m := &pb.CooldownRequest{}
				return send(b, m, func() error { _, err := c.Cooldown(t.Context(), m); return err })
			},
			func() error {
				m := &pb.LookRequest{}
				return send(b, m, func() error { _, err := c.Look(t.Context(), m); return err })
			},
		}
		err = calls[int(kind)%len(calls)]()
		switch status.Code(err) {
		case codes.OK, codes.InvalidArgument, codes.NotFound:
		default:
			t.Errorf("%v", err)
		}
		state, err := memory.Look(t.Context(), "service/limit/theirs")
		require.NoError(t, err)
		require.Equal(t, hour[0].Limits, state.Limits)
		require.EqualValues(t, 1, state.Uses[0].Spent)
	})
}

// send sends m, if b is one.
func send(b []byte, m proto.Message, call func() error) error {
	if proto.Unmarshal(b, m) != nil {
		return nil //nolint:nilerr // it is no message: there is nothing to send
	}
	return call()
}

// What a store looks at is bounded.
func TestBounds(t *testing.T) {
	c := pb.NewStoreServiceClient(serve(t, grpcserve.Config{Decider: fixed{}, Store: quota.NewMemoryStore(nil)}))
	one := &pb.Demand{Key: "a", Windows: []*pb.Window{{Kind: pb.WindowKind_WINDOW_KIND_SLIDING, Max: 1, PerNanos: 1}}}
	for field, call := range map[string]func() error{
		"takes: they have more than 1024 calls": func() error {
			_, err := c.Take(t.Context(), &pb.TakeRequest{Takes: []*pb.Take{{Demands: []*pb.Demand{one}, Calls: 1000}, {Demands: []*pb.Demand{one}, Calls: 25}}})
			return err
		},
		"takes: they have more than 1024 calls, or a negative number": func() error {
			_, err := c.Take(t.Context(), &pb.TakeRequest{Takes: []*pb.Take{{Demands: []*pb.Demand{one}, Calls: -1}}})
			return err
		},
		"takes: there are 0: send 1 to 1024": func() error {
			_, err := c.Take(t.Context(), &pb.TakeRequest{})
			return err
		},
		"takes: their calls have more than 65536": func() error {
			_, err := c.Take(t.Context(), &pb.TakeRequest{Takes: []*pb.Take{{Demands: []*pb.Demand{{Key: "a", Windows: make([]*pb.Window, 64)}}, Calls: 1024}}})
			return err
		},
		"ended: there are 1025": func() error {
			_, err := c.End(t.Context(), &pb.EndRequest{Ended: make([]*pb.Ended, 1025)})
			return err
		},
		"tickets: there are 1025": func() error {
			_, err := c.Renew(t.Context(), &pb.RenewRequest{Tickets: make([]*pb.Ticket, 1025)})
			return err
		},
		"keys: there are 65: send 1 to 64": func() error {
			stream, err := c.Changed(t.Context(), &pb.ChangedRequest{Keys: make([]string, 65)})
			require.NoError(t, err)
			_, err = stream.Recv()
			return err
		},
		"Key: it is empty": func() error {
			_, err := c.Cooldown(t.Context(), &pb.CooldownRequest{})
			return err
		},
	} {
		err := call()
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", field, err)
		require.ErrorContains(t, err, field)
	}
	bad := map[string][]*pb.Demand{
		"demands: there are 65: send 1 to 64": make([]*pb.Demand, 65),
		"demands[0].windows: there are 65":    {{Windows: make([]*pb.Window, 65)}},
		"demands[0].key: it has 1025 bytes":   {{Key: string(make([]byte, 1025))}},
		"unknown time zone No/Where":          {{Key: "a", Windows: []*pb.Window{{Kind: pb.WindowKind_WINDOW_KIND_CALENDAR, Max: 1, PerNanos: 1, Anchor: &pb.Anchor{Zone: "No/Where"}}}}},
	}
	for field, demands := range bad { // others that share the message are not affected
		answer, err := c.Take(t.Context(), &pb.TakeRequest{Takes: []*pb.Take{{Demands: demands, Calls: 2}, {Demands: []*pb.Demand{{Key: field, Windows: one.GetWindows()}}}}})
		require.NoError(t, err)
		for _, g := range answer.GetTaken()[0].GetGrants() {
			require.Contains(t, g.GetError().GetMessage(), field)
			require.Equal(t, pb.Code_CODE_INVALID, g.GetError().GetCode())
		}
		require.NotEmpty(t, answer.GetTaken()[1].GetGrants()[0].GetId())
		tickets := []*pb.Ticket{{Id: "1", Demands: demands}, {Id: "1", Demands: []*pb.Demand{one}}}
		cancelled, err := c.Cancel(t.Context(), &pb.CancelTicketsRequest{Tickets: tickets})
		require.NoError(t, err)
		require.Contains(t, cancelled.GetDone()[0].GetError().GetMessage(), field)
		require.Nil(t, cancelled.GetDone()[1].GetError())
	}
	_, err := c.Cooldown(t.Context(), &pb.CooldownRequest{Key: string(make([]byte, 5<<20))})
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "a message is bounded too")
}

// A panic fails one call.
func TestPanics(t *testing.T) {
	c := pb.NewRateLimitServiceClient(serve(t, grpcserve.Config{Decider: fixed{}, Store: quota.NewMemoryStore(nil)}))
	_, err := c.CheckRateLimit(t.Context(), &pb.CheckRateLimitRequest{}) // the decider is nil
	require.Equal(t, codes.Internal, status.Code(err))
	require.NotContains(t, err.Error(), "nil pointer")
	_, err = c.HealthCheck(t.Context(), &pb.HealthCheckRequest{})
	require.NoError(t, err)
}
