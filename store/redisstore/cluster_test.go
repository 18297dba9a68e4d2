package redisstore_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

var moves = flag.Int("moves", 1, "how many slots TestCluster moves there and back")

func clusterClient(t *testing.T, servers []*redistest.Server) *redis.ClusterClient {
	t.Helper()
	o := redis.ClusterOptions{ContextTimeoutEnabled: true}
	for _, s := range servers {
		o.Addrs = append(o.Addrs, s.Addr)
	}
	c := redis.NewClusterClient(&o)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// A cluster rejects scripts with keys in different hash slots.
func testKeysOfSeveralSlots(t *testing.T, c *redis.ClusterClient) {
	t.Helper()
	for prefix, options := range map[string][]redisstore.Option{
		"one:":     nil,
		"several:": {redisstore.WithGroups(func(key string) string { return key[:1] })},
	} {
		s, err := redisstore.New(redisstore.GoRedis(c), append(options, redisstore.WithPrefix(prefix), redisstore.WithTimeout(patience))...)
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

// pairs are calls that take from two keys in different hash slots each, until no key has anything left.
type pairs struct {
	prefix  string
	stores  []*redisstore.Store
	granted [pairKeys]atomic.Int64
	failed  atomic.Int64

	mu    sync.Mutex
	calls [pairKeys][]oracle.Call // from when until when they had a slot at least
}

const (
	pairKeys = 12
	pairMost = 300 // of each key, in an hour
	pairHeld = 5   // slots of each key

	pairLease = 700 * time.Millisecond
)

func newPairs(t *testing.T, servers []*redistest.Server, prefix string) *pairs {
	t.Helper()
	p := &pairs{prefix: prefix}
	for range 3 {
		s, err := redisstore.New(redisstore.GoRedis(clusterClient(t, servers)), redisstore.WithPrefix(prefix),
			redisstore.WithGroups(func(key string) string { return key }), redisstore.WithTimeout(300*time.Millisecond))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		p.stores = append(p.stores, s)
	}
	return p
}

func (p *pairs) request(keys ...int) quota.Request {
	r := quota.Request{Lease: pairLease}
	for _, key := range keys {
		r.Demands = append(r.Demands, quota.Demand{Key: strconv.Itoa(key), Limits: throttle.Limits{
			Concurrency: pairHeld, Windows: []throttle.Window{throttle.Sliding(pairMost, time.Hour)},
		}})
	}
	return r
}

// start makes calls until stop, which waits for them.
func (p *pairs) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 24 {
		s, random := p.stores[i%len(p.stores)], rand.New(rand.NewPCG(uint64(i), 1))
		all.Go(func() {
			for ctx.Err() == nil {
				keys := random.Perm(pairKeys)[:2]
				lapses := time.Now().Add(pairLease)
				g, err := s.Take(ctx, p.request(keys...))
				from := time.Now()
				if err != nil || g.Wait > 0 {
					if err != nil && ctx.Err() == nil {
						p.failed.Add(1)
					}
					<-time.After(3 * time.Millisecond)
					continue
				}
				for _, key := range keys {
					p.granted[key].Add(1)
				}
				<-time.After(time.Millisecond)
				until := time.Now()
				if lapses.Before(until) { // this machine was slow
					from, until = earlier(from, lapses), lapses
				}
				p.mu.Lock()
				for _, key := range keys {
					p.calls[key] = append(p.calls[key], oracle.Call{At: time.Duration(from.UnixNano()), Done: time.Duration(until.UnixNano())})
				}
				p.mu.Unlock()
				_ = s.End(context.WithoutCancel(ctx), g.Ticket, nil) // else the lease lapses
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// await waits until so many calls more of a key were admitted.
func (p *pairs) await(t *testing.T, key int, more int64) {
	t.Helper()
	first := p.granted[key].Load()
	require.Eventually(t, func() bool { return p.granted[key].Load() >= first+more }, 30*time.Second, time.Millisecond, "key %d", key)
}

// judge asserts that no key has admitted more than its limit so many times taken, and that nothing was given back that
// had been admitted.
func (p *pairs) judge(t *testing.T, times func(key int) int64) {
	t.Helper()
	for key := range p.granted {
		n := p.granted[key].Load()
		assert.LessOrEqual(t, n, times(key)*pairMost, "key %d", key)
		require.NoError(t, oracle.Judge(oracle.Timeline(p.calls[key]), oracle.Concurrency(pairHeld)).Err(), "key %d", key)
		if times(key) > 1 {
			continue
		}
		assert.EventuallyWithT(t, func(c *assert.CollectT) {
			state, err := p.stores[0].Look(t.Context(), strconv.Itoa(key))
			if assert.NoError(c, err) && assert.NotEmpty(c, state.Uses) {
				assert.GreaterOrEqual(c, state.Uses[0].Spent, n, "key %d", key)
				assert.Zero(c, state.InFlight, "key %d", key)
			}
		}, 20*time.Second, 10*time.Millisecond)
	}
}

func TestCluster(t *testing.T) {
	servers := redistest.StartCluster(t, 3)
	t.Run("keys of several slots", func(t *testing.T) { testKeysOfSeveralSlots(t, clusterClient(t, servers)) })
	nodes := make([]*redis.Client, len(servers))
	for i, s := range servers {
		nodes[i] = plain(t, s)
	}
	// home is the master of a slot.
	home := func(slot int64) int {
		return int(min(slot*int64(len(nodes))/16384, int64(len(nodes)-1)))
	}
	slotsOf := func(p *pairs) (slots [pairKeys]int64) {
		for key := range slots {
			slot, err := nodes[0].ClusterKeySlot(t.Context(), p.stores[0].Names(strconv.Itoa(key))[0]).Result()
			require.NoError(t, err)
			slots[key] = slot
		}
		return slots
	}

	// While a slot migrates, calls fail or are redirected; after it all go on, and no call was admitted twice.
	t.Run("slots move", func(t *testing.T) {
		for round := range *moves {
			p := newPairs(t, servers, "move"+strconv.Itoa(round)+":")
			stop := p.start(t)
			p.await(t, 0, 30)
			slot := slotsOf(p)[0]
			from := home(slot)
			to := (from + 1) % len(nodes)
			ids := make([]string, len(nodes))
			for i, c := range nodes {
				id, err := c.Do(t.Context(), "CLUSTER", "MYID").Text()
				require.NoError(t, err)
				ids[i] = id
			}
			for _, at := range [][2]int{{from, to}, {to, from}} { // there and back, so that home holds
				do := func(c *redis.Client, words ...any) {
					require.NoError(t, c.Do(t.Context(), words...).Err())
				}
				do(nodes[at[1]], "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[at[0]])
				do(nodes[at[0]], "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[at[1]])
				failed := p.failed.Load()
				require.Eventually(t, func() bool { return p.failed.Load() >= failed+5 }, 30*time.Second, time.Millisecond)
				host, port, _ := strings.Cut(servers[at[1]].Addr, ":")
				require.Eventually(t, func() bool { // a key may be made meanwhile
					keys, err := nodes[at[0]].ClusterGetKeysInSlot(t.Context(), int(slot), 100).Result()
					require.NoError(t, err)
					for _, key := range keys {
						do(nodes[at[0]], "MIGRATE", host, port, key, 0, 5000)
					}
					return len(keys) == 0
				}, 30*time.Second, time.Millisecond)
				for _, i := range []int{at[1], at[0], 3 - at[0] - at[1]} {
					do(nodes[i], "CLUSTER", "SETSLOT", slot, "NODE", ids[at[1]])
				}
				p.await(t, 0, 30)
			}
			stop()
			t.Logf("%d calls failed", p.failed.Load())
			p.judge(t, func(int) int64 { return 1 })
		}
	})

	// Calls that need a master that was killed fail, and give back what they took elsewhere. When it is back, its keys
	// begin anew.
	t.Run("a master is killed", func(t *testing.T) {
		p := newPairs(t, servers, "kill:")
		stop := p.start(t)
		p.await(t, 0, 30)
		slots := slotsOf(p)
		victim := home(slots[0])
		servers[victim].Kill()
		failed := p.failed.Load()
		require.Eventually(t, func() bool { return p.failed.Load() >= failed+50 }, 30*time.Second, time.Millisecond)
		dead := p.granted[0].Load()
		for key := range pairKeys {
			if home(slots[key]) != victim {
				p.await(t, key, 10)
				break
			}
		}
		assert.Equal(t, dead, p.granted[0].Load())
		servers[victim].Restart(t)
		p.await(t, 0, 30)
		stop()
		t.Logf("%d calls failed", p.failed.Load())
		p.judge(t, func(key int) int64 {
			if home(slots[key]) == victim {
				return 2
			}
			return 1
		})
	})
}
