package line_test

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/throttle"
)

// A call that waits holds about a kilobyte besides its goroutine, the
// guarded call itself included.
func TestACallThatWaitsIsSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10_000
		c := newCrowd(t, line.Config{MaxQueue: n})
		g := made(t, guard.Policy{Limits: one().Limits})
		c.hold(g, time.Minute)
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		var parked sync.WaitGroup
		release, never := make(chan struct{}), make(chan struct{})
		for range n { // their goroutines are used again
			parked.Go(func() {
				select {
				case <-release:
				case <-never:
				}
			})
		}
		synctest.Wait()
		close(release)
		parked.Wait()
		before := heap()
		for range n {
			c.wg.Go(func() {
				ctx, _ := c.lines.With(t.Context(), batch("client"))
				assert.NoError(t, g.Do(ctx, throttle.Cost{}, nothing))
			})
		}
		synctest.Wait()
		each := (heap() - before) / n
		t.Logf("%d bytes each", each)
		assert.Equal(t, n, c.lines.Stats()[0].Waiting)
		assert.LessOrEqual(t, each, uint64(1200))
		c.wg.Wait()
	})
}
