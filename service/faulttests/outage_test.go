package faulttests_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/redisserver"
)

const (
	timeout = 500 * time.Millisecond // the default
	// late is what a busy machine may take beside it, once a timer of the test has noticed the end of that time.
	late = time.Second
	// recovers is how soon the store is used after it is back, and again how often it is asked then.
	recovers, again = 2 * time.Second, 20 * time.Millisecond
)

// fault is something that happens to Redis, or to the network before it, and ends.
type fault struct{ begin, end func() }

// faults starts a Redis behind a network, and returns what may happen to them.
func faults(t *testing.T) (address string, all map[string]fault) {
	t.Helper()
	server := redisserver.Start(t)
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(api, "redis", "127.0.0.1:0", server.Addr)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		p.Toxics.ResetToxics(t.Context())
		p.Stop()
	})
	toxic := func(text string) fault {
		return fault{func() {
			_, err := p.Toxics.AddToxicJson(strings.NewReader(text))
			require.NoError(t, err)
		}, func() { p.Toxics.ResetToxics(t.Context()) }}
	}
	return "redis://" + p.Listen, map[string]fault{
		"killed":   {server.Kill, func() { server.Restart(t) }},
		"stopped":  {server.Pause, server.Resume},
		"silent":   toxic(`{"name":"silent","type":"timeout","stream":"downstream","attributes":{"timeout":0}}`),
		"slow":     toxic(`{"name":"slow","type":"latency","stream":"upstream","attributes":{"latency":5000}}`),
		"resets":   toxic(`{"name":"resets","type":"reset_peer","stream":"downstream","attributes":{"timeout":0}}`),
		"detached": {func() { p.Stop() }, func() { require.NoError(t, p.Start()) }},
	}
}

// Whatever happens to Redis: each check has its answer by the policy within one timeout,
// and within two seconds of the end of it the limits are those of Redis again.
func TestOutages(t *testing.T) {
	pairs := [][]string{{"killed", "stopped"}, {"silent", "slow"}, {"resets", "detached"}}
	for policy, more := range map[string]string{"closed": "", "open": ", outage: open", "local": ", outage: local, local_share: 0.5"} {
		for i, pair := range pairs {
			if policy != "closed" && i > 0 && *rounds == 1 {
				continue // what the network does is the same to every policy
			}
			t.Run(policy+", "+strings.Join(pair, ", "), func(t *testing.T) {
				t.Parallel()
				address, all := faults(t)
				s := start(t, strings.ReplaceAll(on(address, more), "capacity: 10, refill_rate: 0.01", "capacity: 10000, refill_rate: 0.01"))
				require.Equal(t, http.StatusOK, s.check().Status)
				for _, name := range pair {
					for range *rounds {
						outage(t, s, policy, all[name])
					}
				}
			})
		}
	}
}

func outage(t *testing.T, s *replica, policy string, f fault) {
	t.Helper()
	f.begin()
	began := time.Now()
	for range 8 {
		over := make(chan time.Time, 1)
		timer := time.AfterFunc(timeout, func() { over <- time.Now() })
		a := s.check()
		if !timer.Stop() {
			assert.Less(t, time.Since(<-over), late)
		}
		if policy == "closed" {
			assert.Equal(t, http.StatusServiceUnavailable, a.Status)
			assert.GreaterOrEqual(t, a.RetryTime, 1.0)
		} else {
			assert.Equal(t, http.StatusOK, a.Status)
		}
		assert.Contains(t, []string{"storage_unavailable", "breaker_open"}, a.Reason)
	}
	t.Logf("8 checks in %v", time.Since(began))
	f.end()
	back, overdue := time.Now(), make(chan struct{})
	defer time.AfterFunc(recovers, func() { close(overdue) }).Stop()
	for left := late / again; ; <-time.After(again) {
		a := s.check()
		if a.Status == http.StatusOK && a.Reason == "" {
			break
		}
		select {
		case <-overdue:
			left--
			require.Positive(t, left, "%+v", a)
		default:
		}
	}
	t.Logf("back after %v", time.Since(back).Round(time.Millisecond))
}
