package faulttests_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

// network is what lies between the stores and a server.
type network struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

func through(t *testing.T, s *redistest.Server) *network {
	t.Helper()
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	n := &network{t, toxiproxy.NewProxy(api, "redis", "127.0.0.1:0", s.Addr)}
	require.NoError(t, n.proxy.Start())
	t.Cleanup(func() {
		if n.healed() {
			n.proxy.Stop()
		}
	})
	return n
}

// open returns a store on the other side of the network.
func (n *network) open(options ...redisstore.Option) *redisstore.Store {
	n.t.Helper()
	s, err := redisstore.Open("redis://"+n.proxy.Listen, options...)
	require.NoError(n.t, err)
	n.t.Cleanup(func() { require.NoError(n.t, s.Close()) })
	return s
}

// fail adds toxics, as the API of toxiproxy has them.
func (n *network) fail(toxics ...string) {
	n.t.Helper()
	for _, toxic := range toxics {
		_, err := n.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
		require.NoError(n.t, err)
	}
}

func (n *network) heal() {
	n.t.Helper()
	if !n.healed() {
		n.t.Skip("toxiproxy is in a deadlock: a connection has ended while its toxic was removed")
	}
}

// healed removes the toxics. It reports false if toxiproxy is in a deadlock, as happens when the end of a connection
// waits for the lock of the removal, and the toxic to be removed for room on that connection.
func (n *network) healed() bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.proxy.Toxics.ResetToxics(context.Background())
	}()
	select {
	case <-done:
		return true
	case <-time.After(20 * time.Second):
		return false
	}
}

// counts are what the Takes of all stores come to.
type counts struct{ granted, failed atomic.Int64 }

// counted is a store that counts its Takes.
type counted struct {
	quota.Store

	all *counts
}

func (c counted) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	g, err := c.Store.Take(ctx, r)
	switch {
	case err != nil:
		c.all.failed.Add(1)
	case g.Wait == 0:
		c.all.granted.Add(1)
	}
	return g, err
}

// await waits until n of a count more are there.
func await(t *testing.T, count *atomic.Int64, n int64) {
	t.Helper()
	first := count.Load()
	require.Eventually(t, func() bool { return count.Load() >= first+n }, 2*time.Minute, time.Millisecond)
}

// Whatever the network does, no limit is exceeded, callers return by their deadlines, and all go on by themselves
// after it.
func TestFaultsOfTheNetwork(t *testing.T) {
	for name, fault := range map[string]struct {
		toxics []string
		fails  bool // calls
	}{
		"latency":          {toxics: []string{`{"type": "latency", "attributes": {"latency": 100, "jitter": 50}}`}},
		"black hole":       {toxics: []string{`{"type": "timeout", "attributes": {"timeout": 0}}`}, fails: true},
		"lost requests":    {toxics: []string{`{"type": "timeout", "stream": "upstream", "attributes": {"timeout": 0}}`}, fails: true},
		"lost for a while": {toxics: []string{`{"type": "timeout", "attributes": {"timeout": 40}}`}, fails: true},
		"reset":            {toxics: []string{`{"type": "reset_peer", "attributes": {"timeout": 0}}`}, fails: true},
		"late reset":       {toxics: []string{`{"type": "reset_peer", "attributes": {"timeout": 30}}`}, fails: true},
		"slow close": {toxics: []string{
			`{"type": "slow_close", "attributes": {"delay": 100}}`, `{"type": "limit_data", "attributes": {"bytes": 500}}`,
		}, fails: true},
		"bandwidth": {toxics: []string{`{"type": "bandwidth", "attributes": {"rate": 4}}`}},
		"slices":    {toxics: []string{`{"type": "slicer", "attributes": {"average_size": 3, "size_variation": 1, "delay": 500}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			const stores, patience = 3, 150 * time.Millisecond
			server := redistest.Start(t)
			n := through(t, server)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var mu sync.Mutex
			var log []redistest.Granted
			var late time.Duration
			var calls counts
			var loads sync.WaitGroup
			for range stores {
				o := n.open(redisstore.WithTimeout(patience))
				loads.Go(func() {
					l := redistest.Load(ctx, counted{o, &calls}, 16, patience, func(g redistest.Granted) {
						mu.Lock()
						defer mu.Unlock()
						log = append(log, g)
					})
					mu.Lock()
					defer mu.Unlock()
					late = max(late, l)
				})
			}
			for range *rounds {
				await(t, &calls.granted, 100)
				failed := calls.failed.Load()
				n.fail(fault.toxics...)
				<-time.After(*lasts)
				if fault.fails {
					await(t, &calls.failed, 10)
				}
				n.heal()
				t.Logf("%d calls failed", calls.failed.Load()-failed)
			}
			await(t, &calls.granted, 200)
			stop()
			loads.Wait()
			require.NoError(t, redistest.Judge(log, 1))
			t.Logf("%d granted, the latest caller %s after its deadline was noticed", len(log), late)
			t.Logf("scorecard: row=6 faults=%d calls=%d late_ms=%d", *rounds, len(log), late.Milliseconds())
			assert.Less(t, late, 2*time.Second)
		})
	}
}

// While a network carries nothing, callers return by their deadlines, and so does Close.
func TestABlackHoleHoldsNoCaller(t *testing.T) {
	server := redistest.Start(t)
	n := through(t, server)
	s, err := redisstore.Open("redis://"+n.proxy.Listen, redisstore.WithTimeout(200*time.Millisecond))
	require.NoError(t, err)
	r := slots("a", 100)
	g, err := s.Take(t.Context(), r)
	require.NoError(t, err)
	n.fail(`{"type": "timeout", "attributes": {"timeout": 0}}`, `{"type": "timeout", "stream": "upstream", "attributes": {"timeout": 0}}`)
	calls := []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.Take(ctx, r); return err },
		func(ctx context.Context) error { r := r; r.Peek = true; _, err := s.Take(ctx, r); return err },
		func(ctx context.Context) error {
			_, err := s.Renew(ctx, []quota.Ticket{g.Ticket}, time.Minute)
			return err
		},
		func(ctx context.Context) error { return s.End(ctx, g.Ticket, nil) },
		func(ctx context.Context) error { return s.Cancel(ctx, g.Ticket) },
		func(ctx context.Context) error { return s.Cooldown(ctx, "b", time.Second) },
		func(ctx context.Context) error { return s.Forget(ctx, "b") },
		func(ctx context.Context) error { _, err := s.Look(ctx, "a"); return err },
		func(ctx context.Context) error { _, err := s.Changed(ctx, "a"); return err },
		func(ctx context.Context) error {
			for _, err := range s.Keys(ctx, "") {
				return err
			}
			return nil
		},
	}
	var wg sync.WaitGroup
	for i := range 8 * len(calls) {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if i/len(calls)%2 == 0 { // that of the store comes first
				ctx = t.Context()
				if i%len(calls) == len(calls)-1 {
					return // Keys has only the caller's
				}
			}
			assert.Error(t, calls[i%len(calls)](ctx))
		})
	}
	wg.Wait() // nothing is carried yet
	over := make(chan time.Time, 1)
	timer := time.AfterFunc(time.Second, func() { over <- time.Now() })
	require.NoError(t, s.Close())
	if !timer.Stop() {
		assert.Less(t, time.Since(<-over), 2*time.Second, "it waits for as long as one command may take")
	}
}

func slots(key string, n int) quota.Request {
	return quota.Request{Lease: time.Minute, Demands: []quota.Demand{{Key: key, Limits: throttle.Limits{
		Concurrency: n, Windows: []throttle.Window{throttle.Sliding(1e9, time.Hour)},
	}}}}
}

// Callers that give up at any moment leave no slot taken, and nothing is counted or given back twice: what is spent in
// the end is what was ended.
func TestStormsOfCancels(t *testing.T) {
	for name, options := range map[string][]redisstore.Option{
		"one group":      nil,
		"several groups": {redisstore.WithGroups(func(key string) string { return key })},
		"batches":        {redisstore.WithBatches(20, 20*time.Millisecond)},
	} {
		patience := int64(60 * time.Millisecond)
		if name == "several groups" {
			patience *= 4 // one answer after the other
		}
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			n := through(t, server)
			s := n.open(append(options, redisstore.WithTimeout(30*time.Second))...)
			n.fail(`{"type": "latency", "attributes": {"latency": 2, "jitter": 2}}`)
			leased, plain := slots("a", 40), slots("plain", 0)
			leased.Demands = append(leased.Demands, slots("b", 40).Demands...)
			plain.Demands[0].Cost.Requests = 3
			var used, gone [2]atomic.Int64
			var wg sync.WaitGroup
			for i := range 64 {
				random := rand.New(rand.NewPCG(uint64(i), 1))
				wg.Go(func() {
					for range *storms {
						which := random.IntN(2)
						r := []quota.Request{leased, plain}[which]
						ctx, cancel := context.WithCancel(context.Background())
						stop := time.AfterFunc(time.Duration(random.Int64N(patience)), cancel)
						g, err := s.Take(ctx, r)
						switch {
						case err != nil:
							gone[which].Add(1)
						case g.Wait > 0:
							<-time.After(time.Millisecond)
						case random.IntN(2) == 0:
							assert.NoError(t, s.Cancel(context.Background(), g.Ticket))
						default:
							used[which].Add(1)
							if err = s.End(ctx, g.Ticket, nil); err != nil && which == 0 { // it may have ended nevertheless
								if err = s.End(context.Background(), g.Ticket, nil); errors.Is(err, quota.ErrLeaseLost) {
									err = nil
								}
								assert.NoError(t, err)
							}
						}
						stop.Stop()
						cancel()
					}
				})
			}
			wg.Wait()
			t.Logf("used %d and %d, gave up %d and %d", used[0].Load(), used[1].Load(), gone[0].Load(), gone[1].Load())
			for i := range used {
				assert.Positive(t, used[i].Load())
				assert.Positive(t, gone[i].Load())
			}
			for i, key := range []string{"a", "b", "plain"} {
				want := [2]int64{0, []int64{used[0].Load(), used[0].Load(), 3 * used[1].Load()}[i]}
				assert.EventuallyWithT(t, func(c *assert.CollectT) {
					state, err := s.Look(t.Context(), key)
					if assert.NoError(c, err) && assert.NotEmpty(c, state.Uses) {
						assert.Equal(c, want, [2]int64{int64(state.InFlight), state.Uses[0].Spent}, key)
					}
				}, 20*time.Second, 5*time.Millisecond)
			}
		})
	}
}
