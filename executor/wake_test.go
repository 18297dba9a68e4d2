package executor

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

// Of a burst that comes before the first worker is awake, every task finds a worker.
func TestABurstWakesAsManyAsItNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst = 8
		x := start(t, Config{Concurrency: burst})
		x.lock()
		assert.NoError(t, x.startLocked())
		x.unlock()
		synctest.Wait()
		g := make(gate)
		x.lock() // no worker can look in between
		for range burst {
			task := &Task[int]{record: record{x: x, ctx: t.Context()}, do: g.call}
			task.job = task
			x.enqueueLocked(&task.record, 0)
		}
		x.unlock()
		synctest.Wait()
		assert.Equal(t, int64(burst), x.Stats().Tasks[Calling])
		close(g)
		assert.NoError(t, x.Join(t.Context()))
	})
}
