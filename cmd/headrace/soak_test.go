package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/executor"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/service"
	"github.com/headrace/headrace/throttle"
)

var soakFor = flag.Duration("soak", 0, "how long TestSoak loads all parts; 0: for a few rounds")

// soak is one of each part that lives long, over loopback, and a provider that sheds what is more than it allows.
type soak struct {
	t        *testing.T
	client   *http.Client
	guard    *guard.Guard
	executor *executor.Executor
	service  *service.Server
	upstream string
	proxied  string
	calls    atomic.Int64
}

// samples is what a round left behind, by what was measured.
type samples map[string][]int64

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{t: t}
	var inFlight atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer inFlight.Add(-1)
		_, _ = io.Copy(io.Discard, r.Body)
		if inFlight.Add(1) > 12 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, `{"usage":{"total_tokens":3}}`)
	}))
	t.Cleanup(up.Close)
	s.upstream = up.URL
	own := &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(own.CloseIdleConnections)
	var err error
	s.guard, err = guard.New(guard.Policy{Name: "soak", Limits: throttle.Limits{Concurrency: 16}})
	require.NoError(t, err)
	s.client = &http.Client{Transport: headrace.Transport(own, "", headrace.Within(s.guard))}
	s.executor, err = executor.New(executor.Config{Queue: 64, Concurrency: 8})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.executor.Stop(context.Background())) })
	s.service, err = service.New(t.Context(), service.Config{Text: []byte("rate_limits: [{scope: user, capacity: 100, refill_rate: 1000}]")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.service.Close()) })
	s.startProxy()
	return s
}

func (s *soak) startProxy() {
	s.t.Helper()
	r, err := registry.New(registry.Config{})
	require.NoError(s.t, err)
	base := &http.Transport{MaxIdleConnsPerHost: 32}
	s.t.Cleanup(base.CloseIdleConnections)
	p, err := proxy.New(proxy.Config{Registry: r, Base: base, Upstreams: map[string]proxy.Upstream{"up": {URL: s.upstream}}})
	require.NoError(s.t, err)
	front := httptest.NewServer(p)
	s.t.Cleanup(front.Close)
	s.proxied = front.URL + "/up"
}

// round loads every part, with calls that are given up and limits that change among them, and returns when all have ended.
func (s *soak) round() {
	s.t.Helper()
	var wg sync.WaitGroup
	each := func(n int, call func(ctx context.Context, i int)) {
		for i := range n {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(s.t.Context())
				defer cancel()
				if i%5 == 0 {
					go func() { runtime.Gosched(); cancel() }()
				}
				call(ctx, i)
				s.calls.Add(1)
			})
		}
	}
	each(100, func(ctx context.Context, _ int) { s.post(ctx, s.upstream) })
	each(50, func(ctx context.Context, _ int) { s.post(ctx, s.proxied) })
	each(50, func(ctx context.Context, _ int) {
		if task, err := executor.Submit(ctx, s.executor, func(context.Context) (int, error) { return 1, nil }); err == nil {
			_, _ = task.Wait(ctx)
		}
	})
	each(50, func(ctx context.Context, i int) {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/ratelimit/check",
			strings.NewReader(fmt.Sprintf(`{"identifier":"u%d","resource":"x"}`, i%7)))
		s.service.Handler().ServeHTTP(httptest.NewRecorder(), r)
	})
	each(4, func(ctx context.Context, i int) {
		items := make([]int, 100)
		_, _ = node.Map("soak", func(_ context.Context, n int) (int, error) { return n, nil }).WithParallel(8).All(ctx, items)
		assert.NoError(s.t, s.guard.Set(guard.Policy{Name: "soak", Limits: throttle.Limits{Concurrency: 8 + i}}))
	})
	wg.Wait()
}

func (s *soak) post(ctx context.Context, url string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(bytes.Repeat([]byte("x"), 2000)))
	if !assert.NoError(s.t, err) {
		return
	}
	if resp, err := s.client.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// measure appends what there is between two rounds.
func (s samples) measure() {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what had a finalizer or a cleanup
	runtime.ReadMemStats(&m)
	s["KiB of memory"] = append(s["KiB of memory"], int64(m.HeapAlloc>>10))
	s["goroutines"] = append(s["goroutines"], int64(runtime.NumGoroutine()))
	if all, err := os.ReadDir("/proc/self/fd"); err == nil {
		s["descriptors"] = append(s["descriptors"], int64(len(all)))
	}
}

// slack is what one round may have more than another by chance.
var slack = map[string]int64{"KiB of memory": 2 << 10, "goroutines": 32, "descriptors": 32}

// growth is by how much the least of the last third of the rounds is above the most of the first third after the warm-up.
func growth(all []int64) int64 {
	warm := all[len(all)/10:]
	third := len(warm) / 3
	return slices.Min(warm[len(warm)-third:]) - slices.Max(warm[:third])
}

// However long all parts are used, memory, descriptors and goroutines stay what they are.
func TestSoak(t *testing.T) {
	s := newSoak(t)
	rounds, measured := 0, samples{}
	for began := time.Now(); rounds < 12 || time.Since(began) < *soakFor; rounds++ {
		s.round()
		measured.measure()
	}
	for what, all := range measured {
		t.Logf("%s: %d after the first round, %d after the last, %d at most", what, all[0], all[len(all)-1], slices.Max(all))
		assert.LessOrEqual(t, growth(all), slack[what], "%s grow: %v", what, all)
	}
	t.Logf("%d rounds, %d calls", rounds, s.calls.Load())
}

func TestGrowthIsSeen(t *testing.T) {
	still, growing := []int64{}, []int64{}
	for i := range int64(30) {
		still = append(still, 100+i%7)
		growing = append(growing, 100+i%7+20*i)
	}
	assert.LessOrEqual(t, growth(still), int64(0))
	assert.Greater(t, growth(growing), int64(100))
}
