package report

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls f(0) to f(n-1) on all processors. f writes to its own index only.
func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	workers.Wait()
}
