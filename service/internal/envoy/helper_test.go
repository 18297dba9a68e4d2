package envoy_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/envoy"
	"github.com/headrace/headrace/throttle"
)

const (
	ok   = rls.RateLimitResponse_OK
	over = rls.RateLimitResponse_OVER_LIMIT
)

func parse(tb testing.TB, files ...string) *envoy.Config {
	tb.Helper()
	c, _, err := envoy.Parse(named(files...))
	require.NoError(tb, err)
	return c
}

// named calls the files 1.yaml, 2.yaml and so on.
func named(files ...string) []envoy.File {
	var all []envoy.File
	for i, f := range files {
		all = append(all, envoy.File{Name: string(rune('1'+i)) + ".yaml", Data: []byte(f)})
	}
	return all
}

// fixture is a service on a store in memory with a clock that stands still.
type fixture struct {
	*envoy.Service

	tb    testing.TB
	clock *clockwork.FakeClock
	store quota.MemoryStore
}

func serve(tb testing.TB, yaml string, change ...func(*envoy.Options)) *fixture {
	tb.Helper()
	clock := clockwork.NewFakeClockAt(time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC))
	f := &fixture{tb: tb, clock: clock, store: quota.NewMemoryStore(clock)}
	o := envoy.Options{Store: f.store, Settings: envoy.Settings{Config: parse(tb, yaml)}}
	for _, c := range change {
		c(&o)
	}
	s, err := envoy.New(o)
	require.NoError(tb, err)
	f.Service = s
	return f
}

// serveRapid is serve in a property.
func serveRapid(t *rapid.T, yaml string) *fixture {
	clock := clockwork.NewFakeClockAt(time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC))
	f := &fixture{clock: clock, store: quota.NewMemoryStore(clock)}
	c, _, err := envoy.Parse(named(yaml))
	require.NoError(t, err)
	f.Service, err = envoy.New(envoy.Options{Store: f.store, Settings: envoy.Settings{Config: c}})
	require.NoError(t, err)
	return f
}

// request makes one of descriptors such as "key=value, key=value".
func request(domain string, descriptors ...string) *rls.RateLimitRequest {
	r := &rls.RateLimitRequest{Domain: domain}
	for _, d := range descriptors {
		r.Descriptors = append(r.Descriptors, entries(d))
	}
	return r
}

func entries(text string) *ratelimit.RateLimitDescriptor {
	d := &ratelimit.RateLimitDescriptor{}
	for each := range strings.SplitSeq(text, ", ") {
		key, value, _ := strings.Cut(each, "=")
		d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	return d
}

// hits is a descriptor with a hits_addend of its own.
func hits(n uint64, text string) *ratelimit.RateLimitDescriptor {
	d := entries(text)
	d.HitsAddend = wrapperspb.UInt64(n)
	return d
}

func (f *fixture) ask(r *rls.RateLimitRequest) *rls.RateLimitResponse {
	f.tb.Helper()
	a, err := f.ShouldRateLimit(f.tb.Context(), r)
	require.NoError(f.tb, err)
	require.Len(f.tb, a.GetStatuses(), len(r.GetDescriptors()))
	return a
}

// admits is how many of n equal requests are admitted now.
func (f *fixture) admits(n int, r *rls.RateLimitRequest) (admitted int) {
	f.tb.Helper()
	for range n {
		if f.ask(r).GetOverallCode() == ok {
			admitted++
		}
	}
	return admitted
}

func codes(a *rls.RateLimitResponse) (all []rls.RateLimitResponse_Code) {
	for _, s := range a.GetStatuses() {
		all = append(all, s.GetCode())
	}
	return all
}

func remaining(a *rls.RateLimitResponse) (all []uint32) {
	for _, s := range a.GetStatuses() {
		all = append(all, s.GetLimitRemaining())
	}
	return all
}

// dial returns a client of s over a connection of loopback.
func dial(tb testing.TB, s *envoy.Service) rls.RateLimitServiceClient {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	server := grpc.NewServer()
	s.Register(server)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(tb, err)
	tb.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		require.NoError(tb, <-done)
	})
	return rls.NewRateLimitServiceClient(conn)
}

// nowhere is a store that has room for everything and keeps nothing.
type nowhere struct{ quota.Store }

func (nowhere) Take(_ context.Context, r quota.Request) (quota.Grant, error) {
	g := quota.Grant{Uses: make([][]throttle.WindowUse, len(r.Demands))}
	for i, d := range r.Demands {
		g.Uses[i] = []throttle.WindowUse{{Left: d.Limits.Windows[0].Max()}}
	}
	return g, nil
}

func (nowhere) End(context.Context, quota.Ticket, []throttle.Cost) error { return nil }

func (nowhere) Cancel(context.Context, quota.Ticket) error { return nil }
