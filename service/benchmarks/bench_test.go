package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/valyala/fasthttp"
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

// body is a check by REST, which goes to path.
const (
	path = "/v1/ratelimit/check"
	body = `{"identifier":"user_12345","resource":"api.search"}`
)

// echo answers what the service answers to a check, without deciding anything, and returns its address: what is left is
// the cost of net/http.
func echo(b *testing.B) string {
	b.Helper()
	header, text := answered(b)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for name, values := range header {
			if name != "Date" {
				w.Header()[name] = values
			}
		}
		_, _ = w.Write(text)
	}))
	b.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// answered is what the service answers to a check.
func answered(b *testing.B) (http.Header, []byte) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+front(b)+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	return answer.Header, text
}

// post makes single checks by the client of net/http.
func post(b *testing.B, address string) admit {
	b.Helper()
	t := &http.Transport{MaxIdleConnsPerHost: 128}
	b.Cleanup(t.CloseIdleConnections)
	c := &http.Client{Transport: t}
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, strings.NewReader(body))
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

// postFast makes single checks by the client of fasthttp.
func postFast(b *testing.B, address string) admit {
	b.Helper()
	c := &fasthttp.HostClient{Addr: address, MaxConns: 128}
	b.Cleanup(c.CloseIdleConnections)
	return func(context.Context) error {
		r, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(r)
		defer fasthttp.ReleaseResponse(answer)
		r.Header.SetMethod(fasthttp.MethodPost)
		r.SetRequestURI("http://" + address + path)
		r.Header.SetContentType("application/json")
		r.SetBodyString(body)
		if err := c.Do(r, answer); err != nil {
			return err
		}
		if answer.StatusCode() != http.StatusOK {
			return fmt.Errorf("status %d", answer.StatusCode())
		}
		return nil
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

func BenchmarkCheck(b *testing.B) {
	server := redisserver.Start(b)
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
			{"REST", func(b *testing.B) admit { b.Helper(); return post(b, front(b)) }},
			{"REST by fasthttp's client", func(b *testing.B) admit { b.Helper(); return postFast(b, front(b)) }},
			{"net-http echo", func(b *testing.B) admit { b.Helper(); return post(b, echo(b)) }},
			{"net-http echo by fasthttp's client", func(b *testing.B) admit { b.Helper(); return postFast(b, echo(b)) }},
		} {
			b.Run(fmt.Sprintf("goroutines=%d/%s", goroutines, of.name), func(b *testing.B) { server.Measure(b, goroutines, of.make(b)) })
		}
	}
}
