package benchmarks

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/headrace/headrace/throttle"
)

// plenty never binds within a benchmark, but has to be accounted for.
const (
	plenty      = 1e9 // per second
	plentyBurst = 1 << 30
)

func limiter(b *testing.B, l throttle.Limits) *throttle.Limiter {
	b.Helper()
	lim, err := throttle.New(l)
	if err != nil {
		b.Fatal(err)
	}
	return lim
}

func buckets(n int) throttle.Limits {
	var l throttle.Limits
	for range n {
		l.Windows = append(l.Windows, throttle.Bucket(plenty, plentyBurst))
	}
	return l
}

// BenchmarkAllow is one admission that does not wait.
func BenchmarkAllow(b *testing.B) {
	b.Run("headrace", func(b *testing.B) {
		l := limiter(b, buckets(1))
		b.ReportAllocs()
		for b.Loop() {
			if !l.Allow(throttle.Cost{}) {
				b.Fatal("refused")
			}
		}
	})
	b.Run("x-time-rate", func(b *testing.B) {
		l := rate.NewLimiter(plenty, plentyBurst)
		b.ReportAllocs()
		for b.Loop() {
			if !l.Allow() {
				b.Fatal("refused")
			}
		}
	})
}

// BenchmarkThreeWindows is one admission by three windows: at one instant
// here, one after the other and not atomically there.
func BenchmarkThreeWindows(b *testing.B) {
	b.Run("headrace", func(b *testing.B) {
		l := limiter(b, buckets(3))
		b.ReportAllocs()
		for b.Loop() {
			if !l.Allow(throttle.Cost{}) {
				b.Fatal("refused")
			}
		}
	})
	b.Run("x-time-rate", func(b *testing.B) {
		l := [3]*rate.Limiter{}
		for i := range l {
			l[i] = rate.NewLimiter(plenty, plentyBurst)
		}
		b.ReportAllocs()
		for b.Loop() {
			if !l[0].Allow() || !l[1].Allow() || !l[2].Allow() {
				b.Fatal("refused")
			}
		}
	})
}

// BenchmarkSlot is a slot taken and given back.
func BenchmarkSlot(b *testing.B) {
	b.Run("headrace", func(b *testing.B) {
		l := limiter(b, throttle.Limits{Concurrency: 1})
		b.ReportAllocs()
		for b.Loop() {
			p, err := l.TryAcquire(throttle.Cost{})
			if err != nil {
				b.Fatal(err)
			}
			p.Release()
		}
	})
	b.Run("x-sync-semaphore", func(b *testing.B) {
		s := semaphore.NewWeighted(1)
		b.ReportAllocs()
		for b.Loop() {
			if !s.TryAcquire(1) {
				b.Fatal("refused")
			}
			s.Release(1)
		}
	})
}

// BenchmarkSlidingAndSlot is a slot and a place in an exact window, taken together and given back.
func BenchmarkSlidingAndSlot(b *testing.B) {
	l := limiter(b, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(plentyBurst, time.Microsecond)}})
	b.ReportAllocs()
	for b.Loop() {
		p, err := l.TryAcquire(throttle.Cost{})
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

// BenchmarkBlocked is a slot that many goroutines wait for.
func BenchmarkBlocked(b *testing.B) {
	b.Run("headrace", func(b *testing.B) {
		l := limiter(b, throttle.Limits{Concurrency: 4})
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				p, err := l.Acquire(context.Background(), throttle.Cost{})
				if err != nil {
					b.Error(err)
					return
				}
				p.Release()
			}
		})
	})
	b.Run("x-sync-semaphore", func(b *testing.B) {
		s := semaphore.NewWeighted(4)
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := s.Acquire(context.Background(), 1); err != nil {
					b.Error(err)
					return
				}
				s.Release(1)
			}
		})
	})
}
