package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/headrace/headrace/internal/redisserver"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/grpcserve"
	"github.com/headrace/headrace/service/internal/split"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/service/servicestore"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/throttle"
)

// plenty is a limit that admits every call.
const plenty = 1_000_000_000

// admit takes one call.
type admit func(ctx context.Context) error

func refused(wait time.Duration) error { return fmt.Errorf("refused for %s", wait) }

func rate(b *testing.B, server *redisserver.Server) admit {
	b.Helper()
	c := redis.NewClient(&redis.Options{Addr: server.Addr, ContextTimeoutEnabled: true, PoolSize: 80})
	b.Cleanup(func() { _ = c.Close() })
	limiter := redis_rate.NewLimiter(c)
	return func(ctx context.Context) error {
		r, err := limiter.Allow(ctx, "limit", redis_rate.Limit{Rate: plenty, Burst: plenty, Period: time.Minute})
		if err == nil && r.Allowed == 0 {
			err = refused(r.RetryAfter)
		}
		return err
	}
}

// transport is how the server of gRPC is reached.
type transport string

const (
	own        transport = "own"       // its own transport, behind the splitter
	throughNet transport = "ServeHTTP" // through net/http
)

type idle struct{ grpcserve.Decider }

func (idle) Health(context.Context) decide.Health { return decide.Health{} }

// serve serves a store and returns its address.
func serve(b *testing.B, network string, how transport, store quota.Store) string {
	b.Helper()
	at, scheme := "127.0.0.1:0", "http://"
	if network == "unix" {
		at, scheme = filepath.Join(b.TempDir(), "s"), "unix:"
	}
	l, err := net.Listen(network, at)
	if err != nil {
		b.Fatal(err)
	}
	server := grpcserve.New(grpcserve.Config{Store: store, Decider: idle{}, Log: slog.New(slog.DiscardHandler)})
	ended := make(chan error, 2)
	stop := func() {}
	if how == throughNet {
		var p http.Protocols
		p.SetUnencryptedHTTP2(true)
		h := &http.Server{Handler: server, Protocols: &p}
		stop = func() { _ = h.Close() }
		go func() { ended <- nil; ended <- h.Serve(l) }()
	} else {
		s := split.New(l, split.Config{})
		stop = func() { _ = s.Close() }
		go func() { ended <- s.Serve() }()
		go func() { ended <- server.Serve(s.GRPC()) }()
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		server.Shutdown(ctx)
		stop()
		_, _ = <-ended, <-ended
	})
	return scheme + l.Addr().String()
}

func merged(b *testing.B, address string) admit {
	b.Helper()
	s, err := servicestore.Open(address, servicestore.WithTimeout(time.Minute))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return take(s)
}

func take(s quota.Store) admit {
	r := quota.Request{Demands: []quota.Demand{{Key: "limit", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(1000, plenty)}}}}}
	return func(ctx context.Context) error {
		g, err := s.Take(ctx, r)
		if err == nil && g.Wait > 0 {
			err = refused(g.Wait)
		}
		return err
	}
}

// front serves the whole service, with its limits in memory, and returns its address without a scheme.
func front(b *testing.B) string {
	b.Helper()
	s, err := service.New(b.Context(), service.Config{Text: []byte("rate_limits: [{scope: user, capacity: 1000000000, refill_rate: 1000}]")})
	if err != nil {
		b.Fatal(err)
	}
	l, err := s.Listen(b.Context(), "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	b.Cleanup(func() {
		cancel()
		if err := errors.Join(<-served, s.Close()); err != nil {
			b.Error(err)
		}
	})
	return l.Addr().String()
}

// rest makes single checks by REST.
func rest(b *testing.B) admit {
	b.Helper()
	url := "http://" + front(b) + "/v1/ratelimit/check"
	t := &http.Transport{MaxIdleConnsPerHost: 128}
	b.Cleanup(t.CloseIdleConnections)
	c := &http.Client{Transport: t}
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"identifier":"user_12345","resource":"api.search"}`))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := c.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
}

// generated makes single checks by the generated client of gRPC.
func generated(b *testing.B) admit {
	b.Helper()
	conn, err := grpc.NewClient("passthrough:///"+front(b), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	c := pb.NewRateLimitServiceClient(conn)
	return func(ctx context.Context) error {
		answer, err := c.CheckRateLimit(ctx, &pb.CheckRateLimitRequest{Check: &pb.Check{Identifier: "user_12345", Resource: "api.search"}})
		if err == nil && !answer.GetResult().GetAllowed() {
			err = refused(answer.GetResult().GetRetryAfter().AsDuration())
		}
		return err
	}
}

func redisStore(b *testing.B, server *redisserver.Server) quota.Store {
	b.Helper()
	s, err := redisstore.Open(server.URL(), redisstore.WithTimeout(time.Minute))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// used is the processor time of this process and of Redis.
func used(b *testing.B, server *redis.Client) time.Duration {
	b.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	sum := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	info, err := server.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, _ := strconv.ParseFloat(value, 64)
			sum += time.Duration(seconds * 1e9)
		}
	}
	return sum
}

// run has so many goroutines admit b.N calls, and reports processor time and latencies.
func run(b *testing.B, server *redis.Client, goroutines int, f admit) {
	b.Helper()
	ctx := b.Context()
	if err := f(ctx); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	took := make([][]time.Duration, goroutines)
	before := used(b, server)
	b.ResetTimer()
	for i := range goroutines {
		wg.Go(func() {
			for next.Add(1) <= int64(b.N) {
				at := time.Now()
				if err := f(ctx); err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(at))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(used(b, server)-before)/float64(b.N), "cpu-ns/op")
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-us")
}

func BenchmarkCheck(b *testing.B) {
	server := redisserver.Start(b)
	cpu := redis.NewClient(&redis.Options{Addr: server.Addr})
	b.Cleanup(func() { _ = cpu.Close() })
	for _, goroutines := range []int{1, 16, 64} {
		for _, of := range []struct {
			name string
			make func(b *testing.B) admit
		}{
			{"redis_rate", func(b *testing.B) admit { b.Helper(); return rate(b, server) }},
			{"client", func(b *testing.B) admit {
				b.Helper()
				return merged(b, serve(b, "tcp", own, quota.NewMemoryStore(nil)))
			}},
			{"client by a Unix socket", func(b *testing.B) admit {
				b.Helper()
				return merged(b, serve(b, "unix", own, quota.NewMemoryStore(nil)))
			}},
			{"client by ServeHTTP", func(b *testing.B) admit {
				b.Helper()
				return merged(b, serve(b, "tcp", throughNet, quota.NewMemoryStore(nil)))
			}},
			{"client to Redis", func(b *testing.B) admit { b.Helper(); return merged(b, serve(b, "tcp", own, redisStore(b, server))) }},
			{"redisstore", func(b *testing.B) admit { b.Helper(); return take(redisStore(b, server)) }},
			{"gRPC", generated},
			{"REST", rest},
		} {
			b.Run(fmt.Sprintf("goroutines=%d/%s", goroutines, of.name), func(b *testing.B) { run(b, cpu, goroutines, of.make(b)) })
		}
	}
}
