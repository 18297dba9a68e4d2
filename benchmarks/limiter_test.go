package benchmarks

import (
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"go.uber.org/ratelimit"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/headrace/headrace/throttle"
)

func headraceAllow(l throttle.Limits) func(b *testing.B) func() bool {
	return func(b *testing.B) func() bool {
		b.Helper()
		lim := limiter(b, l)
		return func() bool { return lim.Allow(throttle.Cost{}) }
	}
}

func rateAllow(*testing.B) func() bool {
	return rate.NewLimiter(plenty, plentyBurst).Allow
}

func allows() []call {
	return []call{
		{"headrace", headraceAllow(windows(bucket()))},
		{"headrace-sliding", headraceAllow(windows(exact()))},
		{"headrace-quantised", headraceAllow(windows(quantised()))},
		{"x-time-rate", rateAllow},
		{"uber-ratelimit", func(*testing.B) func() bool {
			l := ratelimit.New(plenty)
			return func() bool { return !l.Take().IsZero() }
		}},
		{"sethvargo-limiter", func(b *testing.B) func() bool {
			b.Helper()
			s := sethvargoStore(b, plentyBurst, time.Hour, 1)
			ctx := b.Context()
			return func() bool {
				_, _, _, ok, err := s.Take(ctx, "key")
				return ok && err == nil
			}
		}},
		{"throttled", func(b *testing.B) func() bool {
			b.Helper()
			l := throttledLimiter(b, plenty, time.Second, plentyBurst)
			ctx := b.Context()
			return func() bool {
				limited, _, err := l.RateLimitCtx(ctx, "key", 1)
				return !limited && err == nil
			}
		}},
		{"failsafe-go", func(*testing.B) func() bool {
			return ratelimiter.NewBursty[any](plentyBurst, time.Second).TryAcquirePermit
		}},
		{"failsafe-go-smooth", func(*testing.B) func() bool {
			return ratelimiter.NewSmooth[any](plenty, time.Second).TryAcquirePermit
		}},
	}
}

// BenchmarkAllow is one admission by one window that does not wait.
func BenchmarkAllow(b *testing.B) { alone(b, allows()) }

// BenchmarkAllowParallel is BenchmarkAllow in many goroutines.
func BenchmarkAllowParallel(b *testing.B) { together(b, allows()) }

// BenchmarkAllowOneCore is BenchmarkAllowParallel without contention.
func BenchmarkAllowOneCore(b *testing.B) { onOneCore(b, allows()) }

func threeWindows() []call {
	three := func(w throttle.Window) throttle.Limits { return windows(w, w, w) }
	return []call{
		{"headrace", headraceAllow(three(bucket()))},
		{"headrace-sliding", headraceAllow(three(exact()))},
		{"headrace-quantised", headraceAllow(three(quantised()))},
		{"x-time-rate", func(b *testing.B) func() bool {
			b.Helper()
			l1, l2, l3 := rateAllow(b), rateAllow(b), rateAllow(b)
			return func() bool { return l1() && l2() && l3() }
		}},
		// A call that is rejected by one window can give back what the others took.
		{"x-time-rate-reserve", func(*testing.B) func() bool {
			var l [3]*rate.Limiter
			for i := range l {
				l[i] = rate.NewLimiter(plenty, plentyBurst)
			}
			return func() bool {
				r1, r2, r3 := l[0].Reserve(), l[1].Reserve(), l[2].Reserve()
				if r1.OK() && r2.OK() && r3.OK() && max(r1.Delay(), r2.Delay(), r3.Delay()) == 0 {
					return true
				}
				r1.Cancel()
				r2.Cancel()
				r3.Cancel()
				return false
			}
		}},
		{"failsafe-go", func(*testing.B) func() bool {
			var l [3]ratelimiter.RateLimiter[any]
			for i := range l {
				l[i] = ratelimiter.NewBursty[any](plentyBurst, time.Second)
			}
			return func() bool { return l[0].TryAcquirePermit() && l[1].TryAcquirePermit() && l[2].TryAcquirePermit() }
		}},
	}
}

// BenchmarkThreeWindows is one admission by three windows: at one instant
// here, one after the other and not atomically there.
func BenchmarkThreeWindows(b *testing.B) { alone(b, threeWindows()) }

// BenchmarkThreeWindowsParallel is BenchmarkThreeWindows in many goroutines.
func BenchmarkThreeWindowsParallel(b *testing.B) { together(b, threeWindows()) }

// enough slots for every goroutine.
const enough = 64

func headraceTry(l throttle.Limits) func(b *testing.B) func() bool {
	return func(b *testing.B) func() bool {
		b.Helper()
		l.Concurrency = enough
		lim := limiter(b, l)
		return func() bool {
			p, err := lim.TryAcquire(throttle.Cost{})
			p.Release()
			return err == nil
		}
	}
}

func tries() []call {
	return []call{
		{"headrace", headraceTry(windows(bucket()))},
		{"headrace-sliding", headraceTry(windows(exact()))},
		{"headrace-slot-only", headraceTry(throttle.Limits{})},
		{"x-time-rate", rateAllow}, // has no slot: the yardstick
		{"x-sync-semaphore", func(*testing.B) func() bool {
			s := semaphore.NewWeighted(enough)
			return func() bool {
				if !s.TryAcquire(1) {
					return false
				}
				s.Release(1)
				return true
			}
		}},
		{"channel", func(*testing.B) func() bool {
			s := make(chan struct{}, enough)
			return func() bool {
				select {
				case s <- struct{}{}:
					<-s
					return true
				default:
					return false
				}
			}
		}},
		{"failsafe-go", func(*testing.B) func() bool {
			s := bulkhead.New[any](enough)
			return func() bool {
				if !s.TryAcquirePermit() {
					return false
				}
				s.ReleasePermit()
				return true
			}
		}},
	}
}

// BenchmarkTryAcquire is a slot and a share of a window, taken together and
// the slot given back; of the peers each does one of the two.
func BenchmarkTryAcquire(b *testing.B) { alone(b, tries()) }

// BenchmarkTryAcquireParallel is BenchmarkTryAcquire in many goroutines.
func BenchmarkTryAcquireParallel(b *testing.B) { together(b, tries()) }

// BenchmarkAcquire is a slot and a share of a window by the call that would
// wait, when there is nothing to wait for.
func BenchmarkAcquire(b *testing.B) {
	acquire := func(l throttle.Limits) func(b *testing.B) func() bool {
		l.Concurrency = enough
		return func(b *testing.B) func() bool {
			b.Helper()
			lim, ctx := limiter(b, l), b.Context()
			return func() bool {
				p, err := lim.Acquire(ctx, throttle.Cost{})
				p.Release()
				return err == nil
			}
		}
	}
	alone(b, []call{
		{"headrace", acquire(windows(bucket()))},
		{"headrace-slot-only", acquire(throttle.Limits{})},
		{"x-time-rate", func(b *testing.B) func() bool {
			b.Helper()
			l, ctx := rate.NewLimiter(plenty, plentyBurst), b.Context()
			return func() bool { return l.Wait(ctx) == nil }
		}},
		{"x-sync-semaphore", func(b *testing.B) func() bool {
			b.Helper()
			s, ctx := semaphore.NewWeighted(enough), b.Context()
			return func() bool {
				if s.Acquire(ctx, 1) != nil {
					return false
				}
				s.Release(1)
				return true
			}
		}},
		{"failsafe-go", func(b *testing.B) func() bool {
			b.Helper()
			l, ctx := ratelimiter.NewBursty[any](plentyBurst, time.Second), b.Context()
			return func() bool { return l.AcquirePermit(ctx) == nil }
		}},
	})
}
