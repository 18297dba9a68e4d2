package redisstore_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

// A cluster refuses scripts whose keys are in different hash slots.
func TestCluster(t *testing.T) {
	server := redistest.Start(t, "--cluster-enabled", "yes")
	node := plain(t, server)
	require.NoError(t, node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	require.Eventually(t, func() bool {
		info, err := node.ClusterInfo(t.Context()).Result()
		return err == nil && info[:len("cluster_state:ok")] == "cluster_state:ok"
	}, 20*time.Second, time.Millisecond)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr}, ContextTimeoutEnabled: true})
	t.Cleanup(func() { require.NoError(t, c.Close()) })

	for prefix, options := range map[string][]redisstore.Option{
		"one:":     nil,
		"several:": {redisstore.WithGroups(func(key string) string { return key[:1] })},
	} {
		s, err := redisstore.New(redisstore.GoRedis(c), append(options, redisstore.WithPrefix(prefix))...)
		require.NoError(t, err)
		r := quota.Request{Lease: time.Minute}
		var keys []string
		for i := range 6 {
			keys = append(keys, strconv.Itoa(i))
			r.Demands = append(r.Demands, quota.Demand{Key: keys[i], Limits: throttle.Limits{
				Concurrency: 3, Windows: []throttle.Window{throttle.Sliding(3, time.Minute)},
			}})
		}
		first, second := taken(t, s, r), taken(t, s, r)
		require.NoError(t, s.Cancel(t.Context(), first))
		lost, err := s.Renew(t.Context(), []quota.Ticket{first, second}, time.Minute)
		require.NoError(t, err)
		assert.Equal(t, []quota.Ticket{first}, lost)
		var found []string
		for key, err := range s.Keys(t.Context(), "") {
			require.NoError(t, err)
			found = append(found, key)
		}
		slices.Sort(found)
		assert.Equal(t, keys, found)
		changed, err := s.Changed(t.Context(), "3")
		require.NoError(t, err)
		require.NoError(t, s.End(t.Context(), second, nil))
		<-changed
		require.NoError(t, s.Close())
	}
}
