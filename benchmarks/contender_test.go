package benchmarks

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// roundEnv numbers the passes of a report, and tells a report from a plain run.
const roundEnv = "HEADRACE_BENCH_ROUND"

// A contender is one way to do an operation.
type contender struct {
	name string
	run  func(b *testing.B)
}

// contend runs the contenders of one operation one after the other, beginning
// with another one in every pass of a report: what drifts hits all of them.
func contend(b *testing.B, all []contender) {
	b.Helper()
	first, _ := strconv.Atoi(os.Getenv(roundEnv)) // no pass is pass 0
	for i := range all {
		c := all[(first+i)%len(all)]
		b.Run(c.name, c.run)
	}
}

// A call is a contender with one call as its operation, which reports whether it was
// admitted.
type call struct {
	name string
	make func(b *testing.B) func() bool
}

// alone measures each call in one goroutine.
func alone(b *testing.B, calls []call) {
	b.Helper()
	var all []contender
	for _, c := range calls {
		all = append(all, contender{c.name, func(b *testing.B) {
			b.Helper()
			f := c.make(b)
			b.ReportAllocs()
			for b.Loop() {
				if !f() {
					b.Fatal("refused")
				}
			}
		}})
	}
	contend(b, all)
}

// together measures each call in 1 to 64 goroutines that share one limiter.
func together(b *testing.B, calls []call) {
	b.Helper()
	inGoroutines(b, calls, allCores, 1, 4, 16, 64)
}

// onOneCore measures each call in 64 goroutines on one core, without contention.
func onOneCore(b *testing.B, calls []call) {
	b.Helper()
	inGoroutines(b, calls, oneCore, 64)
}

// cores runs a benchmark on some of the cores.
type cores func(run func(b *testing.B)) func(b *testing.B)

func allCores(run func(b *testing.B)) func(b *testing.B) { return run }

// oneCore sets GOMAXPROCS inside the benchmark, because package testing sets it again before each sub-benchmark.
func oneCore(run func(b *testing.B)) func(b *testing.B) {
	return func(b *testing.B) {
		b.Helper()
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		run(b)
	}
}

func inGoroutines(b *testing.B, calls []call, on cores, counts ...int) {
	b.Helper()
	for _, goroutines := range counts {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			var all []contender
			for _, c := range calls {
				all = append(all, contender{c.name, on(func(b *testing.B) {
					b.Helper()
					share(b, goroutines, c.make(b))
				})})
			}
			contend(b, all)
		})
	}
}

// share splits b.N calls of f between goroutines. They begin when all cores run: as many of them wait in a loop.
func share(b *testing.B, goroutines int, f func() bool) {
	b.Helper()
	var (
		refused, running atomic.Int64
		wg               sync.WaitGroup
		start            = make(chan struct{})
		cores            = min(goroutines, runtime.GOMAXPROCS(0))
	)
	for g := range goroutines {
		n := b.N / goroutines
		if g < b.N%goroutines {
			n++
		}
		wg.Go(func() {
			<-start
			if g < cores {
				for running.Add(1); running.Load() < int64(cores); {
				}
			}
			for range n {
				if !f() {
					refused.Add(1)
				}
			}
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	close(start)
	wg.Wait()
	b.StopTimer()
	if n := refused.Load(); n > 0 {
		b.Fatalf("%d of %d calls were refused", n, b.N)
	}
}
