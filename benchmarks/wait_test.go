//go:build unix

package benchmarks

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/headrace/headrace/throttle"
)

const (
	waitEvery = 50 * time.Microsecond // 20,000 per second
	waiters   = 64
)

// BenchmarkWait is 64 goroutines that wait for a window by turns: the time that the processor spends on an admission. Bare
// time would be the window's.
func BenchmarkWait(b *testing.B) {
	contend(b, []contender{
		{"headrace", func(b *testing.B) {
			b.Helper()
			l, ctx := limiter(b, windows(throttle.Bucket(float64(time.Second/waitEvery), 1))), b.Context()
			waitInTurn(b, func() error { return l.Wait(ctx, throttle.Cost{}) })
		}},
		{"x-time-rate", func(b *testing.B) {
			b.Helper()
			l, ctx := rate.NewLimiter(rate.Every(waitEvery), 1), b.Context()
			waitInTurn(b, func() error { return l.Wait(ctx) })
		}},
	})
}

func waitInTurn(b *testing.B, wait func() error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	before := processor(b)
	for range waiters {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := wait(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((processor(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(0, "ns/op")
}

// processor is the time that the process has used of it.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
