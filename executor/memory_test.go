package executor

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// A queued task costs at most a kilobyte, with its closure and its handle.
func TestMemoryOfAQueuedTask(t *testing.T) {
	const tasks, most = 100_000, 1024
	x := start(t, Config{Queue: tasks})
	x.Pause()
	x.lock()
	require.NoError(t, x.startLocked())
	x.unlock()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	handles := make([]*Task[int], tasks)
	goroutines := runtime.NumGoroutine()
	before := inUse()
	for i := range handles {
		var err error
		handles[i], err = Submit(ctx, x, func(context.Context) (int, error) { return i, nil },
			WithCost(throttle.Cost{Tokens: 100}), WithPriority(i%3))
		require.NoError(t, err)
	}
	each := (inUse() - before) / tasks
	t.Logf("%d bytes a task", each)
	assert.LessOrEqual(t, each, uint64(most))
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	x.Resume()
	for i, task := range handles {
		n, err := task.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, i, n)
	}
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
