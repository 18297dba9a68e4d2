package benchmarks

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

// plenty is a limit that admits every call.
const plenty = 1_000_000_000

// slow is a connection that receives each answer later by a delay.
type slow struct {
	net.Conn

	delay time.Duration
}

func (c slow) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(c.delay)
	return n, err
}

func client(b *testing.B, s *redistest.Server, delay time.Duration) *redis.Client {
	b.Helper()
	o := &redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true, PoolSize: 80}
	if delay > 0 {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return slow{conn, delay}, err
		}
	}
	c := redis.NewClient(o)
	b.Cleanup(func() { _ = c.Close() })
	return c
}

// admit takes one call from so many limits.
type admit func(ctx context.Context) error

func rate(c *redis.Client, limits int) admit {
	limiter := redis_rate.NewLimiter(c)
	return func(ctx context.Context) error {
		for i := range limits {
			r, err := limiter.Allow(ctx, fmt.Sprint("limit ", i), redis_rate.Limit{Rate: plenty, Burst: plenty, Period: time.Minute})
			if err != nil {
				return err
			}
			if r.Allowed == 0 {
				return fmt.Errorf("refused for %s", r.RetryAfter)
			}
		}
		return nil
	}
}

func store(b *testing.B, c *redis.Client, window throttle.Window, limits int, options ...redisstore.Option) admit {
	b.Helper()
	s, err := redisstore.New(redisstore.GoRedis(c), options...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	var r quota.Request
	for i := range limits {
		r.Demands = append(r.Demands, quota.Demand{Key: fmt.Sprint("limit ", i), Limits: throttle.Limits{Windows: []throttle.Window{window}}})
	}
	return func(ctx context.Context) error {
		g, err := s.Take(ctx, r)
		if err == nil && g.Wait > 0 {
			err = fmt.Errorf("refused for %s", g.Wait)
		}
		return err
	}
}

func BenchmarkAdmit(b *testing.B) {
	server := redistest.Start(b)
	sliding, bucket := throttle.Sliding(plenty, time.Minute), throttle.Bucket(plenty/60., plenty)
	for _, of := range []struct {
		limits, goroutines int
		away               time.Duration
	}{{1, 64, 0}, {3, 64, 0}, {3, 1, 500 * time.Microsecond}} {
		name := fmt.Sprintf("limits=%d/goroutines=%d/away=%s/", of.limits, of.goroutines, of.away)
		b.Run(name+"redis_rate", func(b *testing.B) {
			c := client(b, server, of.away)
			server.Measure(b, of.goroutines, rate(c, of.limits))
		})
		b.Run(name+"sliding in batches", func(b *testing.B) {
			c := client(b, server, of.away)
			server.Measure(b, of.goroutines, store(b, c, sliding, of.limits, redisstore.WithPrefix("batches:"), redisstore.WithTimeout(time.Minute),
				redisstore.WithBatches(100, time.Second)))
		})
		for kind, w := range map[string]throttle.Window{"sliding": sliding, "bucket": bucket} {
			b.Run(name+kind, func(b *testing.B) {
				c := client(b, server, of.away)
				server.Measure(b, of.goroutines, store(b, c, w, of.limits, redisstore.WithPrefix(kind+":"), redisstore.WithTimeout(time.Minute)))
			})
		}
	}
}
