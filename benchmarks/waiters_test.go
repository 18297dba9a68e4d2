package benchmarks

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/headrace/headrace/throttle"
)

// A slot is held by one at a time.
type slot interface {
	take(ctx context.Context) (throttle.Permit, error)
	give(p throttle.Permit)
}

type headraceSlot struct{ *throttle.Limiter }

func (s headraceSlot) take(ctx context.Context) (throttle.Permit, error) {
	return s.Acquire(ctx, throttle.Cost{})
}
func (s headraceSlot) give(p throttle.Permit) { p.Release() }

// wait takes for good.
func (s headraceSlot) wait(ctx context.Context) error { return s.Wait(ctx, throttle.Cost{}) }

type semaphoreSlot struct{ *semaphore.Weighted }

func (s semaphoreSlot) take(ctx context.Context) (throttle.Permit, error) {
	return throttle.Permit{}, s.Acquire(ctx, 1)
}
func (s semaphoreSlot) give(throttle.Permit) { s.Release(1) }

type channelSlot chan struct{}

func (s channelSlot) take(ctx context.Context) (throttle.Permit, error) {
	select {
	case s <- struct{}{}:
		return throttle.Permit{}, nil
	case <-ctx.Done():
		return throttle.Permit{}, context.Cause(ctx)
	}
}
func (s channelSlot) give(throttle.Permit) { <-s }

// BenchmarkBlocked is one turn of a slot that is passed on: it is released, and
// the call that waited longest gets it, while so many others wait.
func BenchmarkBlocked(b *testing.B) {
	for _, waiters := range []int{1, 16, 100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			contend(b, []contender{
				{"headrace", func(b *testing.B) {
					b.Helper()
					goRound(b, waiters, headraceSlot{limiter(b, throttle.Limits{Concurrency: 1})})
				}},
				{"headrace-window", func(b *testing.B) {
					b.Helper()
					goRound(b, waiters, headraceSlot{limiter(b, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{bucket()}})})
				}},
				{"x-sync-semaphore", func(b *testing.B) {
					b.Helper()
					goRound(b, waiters, semaphoreSlot{semaphore.NewWeighted(1)})
				}},
				{"channel", func(b *testing.B) {
					b.Helper()
					goRound(b, waiters, make(channelSlot, 1))
				}},
			})
		})
	}
}

// lap is how many turns an operation has.
const lap = 1_000

// goRound begins to measure when every call has had a turn: from then on all
// but the holder are in the queue. The holder of every lap's last turn keeps
// the slot until the next lap.
func goRound(b *testing.B, waiters int, s slot) {
	b.Helper()
	var (
		turn, ended = 0, false // guarded by the slot
		first       = waiters + 1
		rest        = make(chan struct{})
		resume      = make(chan struct{})
		there       atomic.Int64
		wg          sync.WaitGroup
	)
	p, err := s.take(b.Context())
	require.NoError(b, err)
	for range waiters + 1 {
		wg.Go(func() {
			there.Add(1)
			for done := false; !done; {
				p, err := s.take(b.Context())
				if err != nil {
					b.Error(err)
					return
				}
				turn++
				if turn >= first && (turn-first)%lap == 0 && !ended {
					rest <- struct{}{}
					_, more := <-resume
					ended = !more
				}
				done = ended
				s.give(p)
			}
		})
	}
	for there.Load() <= int64(waiters) {
		runtime.Gosched()
	}
	s.give(p)
	<-rest
	var before, after runtime.MemStats
	laps := uint64(0)
	runtime.ReadMemStats(&before)
	for b.Loop() {
		resume <- struct{}{}
		<-rest
		laps++
	}
	elapsed := b.Elapsed()
	runtime.ReadMemStats(&after)
	close(resume)
	wg.Wait()
	b.ReportMetric(float64(elapsed.Nanoseconds())/float64(laps*lap), "ns/turn")
	b.ReportMetric(float64((after.Mallocs-before.Mallocs)/(laps*lap)), "allocs/turn") // whole ones, as -benchmem
	b.ReportMetric(0, "ns/op")
}

// A wait is a contender with an operation that never ends by itself. Its queue is
// made anew for each storm, because what some peers keep of a wait that was
// cancelled would add up.
type wait struct {
	name string
	make func(b *testing.B) func(ctx context.Context) error
}

func headraceWait(l throttle.Limits) func(b *testing.B) func(ctx context.Context) error {
	return func(b *testing.B) func(ctx context.Context) error {
		b.Helper()
		lim := limiter(b, l)
		if _, err := lim.TryAcquire(throttle.Cost{}); err != nil {
			b.Fatal(err)
		}
		return func(ctx context.Context) error {
			_, err := lim.Acquire(ctx, throttle.Cost{})
			return err
		}
	}
}

func waits() []wait {
	return []wait{
		{"headrace", headraceWait(windows(throttle.Bucket(1.0/3600, 1)))},
		{"headrace-sliding", headraceWait(windows(throttle.Sliding(1, time.Hour)))},
		{"headrace-slot", headraceWait(throttle.Limits{Concurrency: 1})},
		{"x-time-rate", func(*testing.B) func(ctx context.Context) error {
			l := rate.NewLimiter(rate.Every(time.Hour), 1)
			l.Allow()
			return l.Wait
		}},
		{"failsafe-go", func(*testing.B) func(ctx context.Context) error {
			l := ratelimiter.NewBursty[any](1, time.Hour)
			l.TryAcquirePermit()
			return l.AcquirePermit
		}},
		{"x-sync-semaphore", func(*testing.B) func(ctx context.Context) error {
			s := semaphore.NewWeighted(1)
			s.TryAcquire(1)
			return func(ctx context.Context) error { return s.Acquire(ctx, 1) }
		}},
		{"channel", func(*testing.B) func(ctx context.Context) error {
			s := make(channelSlot)
			return func(ctx context.Context) error {
				_, err := s.take(ctx)
				return err
			}
		}},
	}
}

// A crowd is goroutines that wait until they are cancelled together.
type crowd struct {
	wg     sync.WaitGroup
	cancel context.CancelFunc
}

// gather returns when n goroutines wait, but for the few that were interrupted
// just before it.
func gather(b *testing.B, n int, wait func(ctx context.Context) error) *crowd {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	c := &crowd{cancel: cancel}
	var there atomic.Int64
	for range n {
		c.wg.Go(func() {
			there.Add(1)
			if wait(ctx) == nil {
				b.Error("admitted")
			}
		})
	}
	for there.Load() < int64(n) {
		runtime.Gosched()
	}
	return c
}

// disperse cancels the waits and returns when all have ended.
func (c *crowd) disperse() {
	c.cancel()
	c.wg.Wait()
}

// BenchmarkCancel is a storm: so many wait, and all are cancelled at once. An
// operation is one of the waits, from the cancelling on.
func BenchmarkCancel(b *testing.B) {
	for _, waiters := range []int{1, 100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			var all []contender
			for _, w := range waits() {
				all = append(all, contender{w.name, func(b *testing.B) {
					b.Helper()
					var took time.Duration
					storms := 0
					for b.Loop() {
						c := gather(b, waiters, w.make(b))
						start := time.Now()
						c.disperse()
						took += time.Since(start)
						storms++
					}
					b.ReportMetric(float64(took.Nanoseconds())/float64(storms*waiters), "ns/cancel")
					b.ReportMetric(0, "ns/op") // it counts the gathering
				}})
			}
			contend(b, all)
		})
	}
}

// BenchmarkWaiterMemory is what one of 10,000 waiters needs of the heap beside
// its goroutine. Of a channel it is what the runtime needs to block.
func BenchmarkWaiterMemory(b *testing.B) {
	const waiters = 10_000
	var all []contender
	for _, w := range waits() {
		all = append(all, contender{w.name, func(b *testing.B) {
			b.Helper()
			// Goroutines are kept by the runtime: have them all made before.
			gather(b, waiters, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }).disperse()
			var bytes uint64
			n := 0
			for b.Loop() {
				before := heap()
				c := gather(b, waiters, w.make(b))
				if after := heap(); after > before {
					bytes += after - before
				}
				c.disperse()
				n++
			}
			b.ReportMetric(float64(bytes)/float64(n*waiters), "B/waiter")
			b.ReportMetric(0, "ns/op")
		}})
	}
	contend(b, all)
}

// heap is what is alive on it.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held on to
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
