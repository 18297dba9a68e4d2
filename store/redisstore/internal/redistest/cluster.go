package redistest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is how many hash slots a cluster has.
const slots = 16384

// StartCluster starts a cluster of so many masters, each with an equal range of the hash slots. The slots of a master
// that is killed fail; those of the others go on.
func StartCluster(tb testing.TB, masters int) []*Server {
	tb.Helper()
	servers := make([]*Server, masters)
	for i := range servers {
		servers[i] = Start(tb, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no")
		if err := servers[i].do(tb.Context(), "CLUSTER", "ADDSLOTSRANGE", i*slots/masters, (i+1)*slots/masters-1); err != nil {
			tb.Fatal(err)
		}
	}
	for _, s := range servers[1:] {
		host, port, _ := strings.Cut(s.Addr, ":")
		if err := servers[0].do(tb.Context(), "CLUSTER", "MEET", host, port); err != nil {
			tb.Fatal(err)
		}
	}
	for end := time.Now().Add(30 * time.Second); ; wait(tb.Context(), 5*time.Millisecond) {
		ready := 0
		for _, s := range servers {
			if s.knows(tb.Context(), masters) {
				ready++
			}
		}
		if ready == masters {
			return servers
		}
		if time.Now().After(end) {
			tb.Fatalf("only %d of %d masters have joined the cluster", ready, masters)
		}
	}
}

// knows reports whether the server knows so many masters, all of their slots, and that they can be used.
func (s *Server) knows(ctx context.Context, masters int) bool {
	c := s.Client()
	defer c.Close() //nolint:errcheck // it was only for this
	info, err := c.ClusterInfo(ctx).Result()
	ranges, err2 := c.ClusterSlots(ctx).Result() //nolint:staticcheck // it says all that is asked here
	return err == nil && err2 == nil && strings.Contains(info, "cluster_state:ok") && len(ranges) == masters
}

// Client returns a client of this server alone.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true})
}

func (s *Server) do(ctx context.Context, words ...any) error {
	c := s.Client()
	defer c.Close() //nolint:errcheck // it was only for this
	return c.Do(ctx, words...).Err()
}
