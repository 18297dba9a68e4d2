package faulttests_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// While several processes load it, Redis is stopped, killed, or loses its data. Between two losses no limit is
// exceeded; across one, by at most one full limit, because a lost key begins with full limits. All go on by themselves.
func TestRedisFailsUnderLoad(t *testing.T) {
	for name, fault := range map[string]struct {
		loses bool
		do    func(t *testing.T, s *redistest.Server)
	}{
		"stopped": {false, func(_ *testing.T, s *redistest.Server) {
			s.Pause()
			<-time.After(*lasts)
			s.Resume()
		}},
		"flushed": {true, func(t *testing.T, s *redistest.Server) {
			t.Helper()
			c := s.Client()
			require.NoError(t, c.FlushAll(t.Context()).Err())
			require.NoError(t, c.Close())
		}},
		"killed": {true, func(t *testing.T, s *redistest.Server) {
			t.Helper()
			s.Kill()
			s.Restart(t)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			const processes, enough = 4, 600
			server := redistest.Start(t)
			stop := redistest.Processes(t, processes, server.URL())
			server.Executes(t, enough)
			var before, after []time.Time // of each loss
			for range *rounds {
				before = append(before, time.Now())
				fault.do(t, server)
				after = append(after, time.Now())
				<-time.After(redistest.Lease) // calls with lost answers hold all slots until then
				server.Executes(t, enough)
			}
			log := stop()
			t.Logf("%d calls", len(log))
			times := int64(1)
			if fault.loses {
				times = 2 // two losses are further apart than the longest window
			}
			require.NoError(t, redistest.Judge(log, times))
			from := time.Time{}
			for i := range before {
				part := redistest.Between(log, from, before[i])
				assert.NotEmpty(t, part)
				require.NoError(t, redistest.Judge(part, 1), "before loss %d", i)
				from = after[i]
			}
			part := redistest.Between(log, from, time.Now())
			assert.NotEmpty(t, part, "all go on")
			require.NoError(t, redistest.Judge(part, 1), "after the last loss")
			t.Logf("scorecard: row=6 faults=%d calls=%d", *rounds, len(log))
		})
	}
}

// manyLimits is a store with 40 keys, each for ten calls in an hour, and what was granted of them.
type manyLimits struct {
	*redisstore.Store

	slots         int // of each key; 0: any number
	granted, full atomic.Int64
}

const manyKeys, mostOfEach = 40, 10

// take makes calls of all keys, as 16 callers. Errors are those of a full memory.
func (s *manyLimits) take(t *testing.T, calls int) {
	t.Helper()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range calls {
				r := quota.Request{Lease: time.Hour, Demands: []quota.Demand{{Key: strconv.Itoa((7*i + j) % manyKeys), Limits: throttle.Limits{
					Concurrency: s.slots, Windows: []throttle.Window{throttle.Sliding(mostOfEach, time.Hour)},
				}}}}
				g, err := s.Take(t.Context(), r)
				switch {
				case err != nil:
					assert.ErrorContains(t, err, "redisstore: OOM ")
					s.full.Add(1)
				case g.Wait == 0:
					s.granted.Add(1)
				}
			}
		})
	}
	all.Wait()
}

// withMemory starts a server that has so many bytes for data.
func withMemory(t *testing.T, bytes int, config ...string) (*redis.Client, *manyLimits) {
	t.Helper()
	server := redistest.Start(t, config...)
	c := server.Client()
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	s, err := redisstore.Open(server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = s.Look(t.Context(), "a") // the script is loaded, and a connection made
	require.NoError(t, err)
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(server.Stat(t, "used_memory:")+bytes)).Err())
	return c, &manyLimits{Store: s}
}

// Keys that Redis evicts begin with full limits: each loss admits one limit more, at most.
func TestEvictionUnderLoad(t *testing.T) {
	c, s := withMemory(t, 1<<20, "--maxmemory-policy", "allkeys-lru", "--notify-keyspace-events", "Ee")
	const evicted, end = "__keyevent@0__:evicted", "end"
	sub := c.Subscribe(t.Context(), evicted, end)
	t.Cleanup(func() { require.NoError(t, sub.Close()) })
	for range 2 {
		_, err := sub.Receive(t.Context())
		require.NoError(t, err)
	}
	lost := make(chan int64)
	go func() {
		losses := int64(0)
		for m := range sub.Channel(redis.WithChannelSize(100_000)) {
			if m.Channel == end {
				break
			}
			if strings.HasPrefix(m.Payload, "headrace:") && !strings.HasSuffix(m.Payload, ":s") {
				losses++
			}
		}
		lost <- losses
	}()
	ctx, cancel := context.WithCancel(t.Context())
	var filling sync.WaitGroup
	filling.Go(func() { // others share the memory
		for i := 0; ctx.Err() == nil; i++ {
			_ = c.Set(ctx, "filler"+strconv.Itoa(i), strings.Repeat("x", 1024), 0).Err()
		}
	})
	s.slots = mostOfEach
	s.take(t, 300**rounds)
	cancel()
	filling.Wait()
	require.NoError(t, c.Publish(t.Context(), end, "").Err())
	losses := <-lost
	t.Logf("%d granted of %d, %d keys lost", s.granted.Load(), manyKeys*mostOfEach, losses)
	assert.Positive(t, losses)
	assert.Less(t, s.full.Load(), s.granted.Load(), "Redis may find too little to evict at once; most calls pass")
	assert.LessOrEqual(t, s.granted.Load(), mostOfEach*(manyKeys+losses))
}

// Without evictions calls fail while the memory is full, with slots and without, and what failed is not counted.
func TestFullMemory(t *testing.T) {
	c, s := withMemory(t, 1<<20, "--maxmemory-policy", "noeviction")
	s.take(t, 5)
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	granted := s.granted.Load()
	s.take(t, 50)
	assert.Equal(t, granted, s.granted.Load())
	failed := s.full.Load()
	assert.Positive(t, failed)
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())
	s.slots = mostOfEach
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	s.take(t, 10)
	assert.EqualValues(t, failed+16*10, s.full.Load())
	failed = s.full.Load()
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())
	s.take(t, 100)
	t.Logf("%d granted, then %d calls without memory", granted, failed)
	assert.Equal(t, failed, s.full.Load())
	assert.EqualValues(t, manyKeys*mostOfEach, s.granted.Load())
}
