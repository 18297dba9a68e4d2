package benchmarks

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"golang.org/x/time/rate"

	"github.com/headrace/headrace/throttle"
)

// keyed is the usual wrapper around a limiter without keys.
type keyed[L any] struct {
	mu sync.RWMutex // guards of
	of map[string]L

	make func() L
}

func (k *keyed[L]) get(key string) L {
	k.mu.RLock()
	l, ok := k.of[key]
	k.mu.RUnlock()
	if ok {
		return l
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if l, ok = k.of[key]; !ok {
		l = k.make()
		k.of[key] = l
	}
	return l
}

// newKeyed returns a call on a map of limiters that make makes.
func newKeyed[L any](newLimiter func() L, allow func(L) bool) func(key string) bool {
	k := &keyed[L]{of: make(map[string]L), make: newLimiter}
	return func(key string) bool { return allow(k.get(key)) }
}

// BenchmarkKeys is one admission by the limiter of a random key, all of them
// known. B/key is what a key needs of the heap, without its string.
func BenchmarkKeys(b *testing.B) {
	peers := []struct {
		name string
		make func(b *testing.B) func(key string) bool
	}{
		{"headrace", func(b *testing.B) func(key string) bool {
			b.Helper()
			return newKeyed(
				func() *throttle.Limiter { return limiter(b, windows(bucket())) },
				func(l *throttle.Limiter) bool { return l.Allow(throttle.Cost{}) },
			)
		}},
		{"x-time-rate", func(*testing.B) func(key string) bool {
			return newKeyed(func() *rate.Limiter { return rate.NewLimiter(plenty, plentyBurst) }, (*rate.Limiter).Allow)
		}},
		{"failsafe-go", func(*testing.B) func(key string) bool {
			return newKeyed(
				func() ratelimiter.RateLimiter[any] { return ratelimiter.NewBursty[any](plentyBurst, time.Second) },
				ratelimiter.RateLimiter[any].TryAcquirePermit,
			)
		}},
		{"sethvargo-limiter", func(b *testing.B) func(key string) bool {
			b.Helper()
			s, ctx := sethvargoStore(b, plentyBurst, time.Hour, 1), b.Context()
			return func(key string) bool {
				_, _, _, ok, err := s.Take(ctx, key)
				return ok && err == nil
			}
		}},
		{"throttled", func(b *testing.B) func(key string) bool {
			b.Helper()
			l, ctx := throttledLimiter(b, plenty, time.Second, plentyBurst), b.Context()
			return func(key string) bool {
				limited, _, err := l.RateLimitCtx(ctx, key, 1)
				return !limited && err == nil
			}
		}},
	}
	for _, n := range []int{1, 100, 10_000, 100_000} {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = "tenant-" + strconv.Itoa(i)
		}
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			var all []contender
			for _, p := range peers {
				all = append(all, contender{p.name, func(b *testing.B) {
					b.Helper()
					randomKeys(b, keys, p.make(b))
				}})
			}
			contend(b, all)
		})
	}
}

func randomKeys(b *testing.B, keys []string, allow func(key string) bool) {
	b.Helper()
	before := heap()
	for _, key := range keys {
		allow(key)
	}
	after := heap()

	random := rand.New(rand.NewPCG(1, 1))
	next := make([]string, 1<<16)
	for i := range next {
		next[i] = keys[random.IntN(len(keys))]
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if !allow(next[i%len(next)]) {
			b.Fatal("refused")
		}
		i++
	}
	// Of a few keys the heap's own noise is larger than what they need.
	if len(keys) >= 10_000 {
		b.ReportMetric(float64(max(after, before)-before)/float64(len(keys)), "B/key")
	}
	runtime.KeepAlive(keys)
}
