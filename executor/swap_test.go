package executor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// A worker takes the head of the queue under one lock only if nothing else has to be looked at.
func TestWhatASwapNeeds(t *testing.T) {
	if direct {
		t.Skip("the fast path is off")
	}
	swaps := func(t *testing.T, change func(x *Executor, w *worker)) bool {
		t.Helper()
		x, err := New(Config{})
		require.NoError(t, err)
		w := &worker{task: &record{where: taken}, took: time.Second}
		x.phase = running // without workers
		x.slots.most = 1
		x.slots.take(w)
		for range 8 { // and none is hired
			x.workers[new(worker)] = struct{}{}
		}
		for range 2 {
			_, err := TrySubmit(t.Context(), x, value(1))
			require.NoError(t, err)
		}
		x.lock()
		x.cursor = x.queue.head()
		x.unlock()
		change(x, w)
		x.lock()
		head := x.queue.head()
		x.unlock()
		x.mu.Lock()
		defer x.mu.Unlock()
		before := w.task
		got := x.nextAtHandLocked(w)
		if got == nil {
			assert.Same(t, before, w.task)
			assert.Zero(t, x.pace)
			return false
		}
		assert.Same(t, head, got)
		assert.Same(t, got, w.task)
		assert.Equal(t, taken, got.where)
		assert.Equal(t, nowhere, before.where)
		assert.NotSame(t, got, x.cursor)
		assert.Equal(t, time.Second, x.pace.mean)
		return true
	}
	assert.True(t, swaps(t, func(*Executor, *worker) {}))
	for name, change := range map[string]func(x *Executor, w *worker){
		"the worker has no task":       func(_ *Executor, w *worker) { w.task = nil },
		"the worker was left behind":   func(_ *Executor, w *worker) { w.lost = true },
		"it is paused":                 func(x *Executor, _ *worker) { x.paused = true },
		"a task waits for room":        func(x *Executor, _ *worker) { x.room.push(new(record)) },
		"there are too many workers":   func(x *Executor, _ *worker) { x.slots.most = 0 },
		"a task waits for a guard":     func(x *Executor, _ *worker) { x.slots.waiting = 1 },
		"a call is not counted":        func(x *Executor, _ *worker) { x.slots.strange = 1 },
		"a task rests":                 func(x *Executor, _ *worker) { x.slots.resting = 1 },
		"a task wants its slot back":   func(x *Executor, _ *worker) { x.slots.returning = []*returner{nil} },
		"a task has the turn":          func(x *Executor, _ *worker) { x.turn = new(worker) },
		"the last task of the queue":   func(x *Executor, _ *worker) { x.poll(new(worker)) },
		"one that arrives goes before": func(x *Executor, _ *worker) { lower(x, -1) },
		"the guard has to be asked":    func(x *Executor, _ *worker) { assert.NoError(t, x.guard.Set(within(throttle.Sliding(1, 1)))) },
	} {
		t.Run(name, func(t *testing.T) { assert.False(t, swaps(t, change)) })
	}
}

// lower gives all queued tasks another priority.
func lower(x *Executor, priority int32) {
	x.lock()
	defer x.unlock()
	x.queue.levels[0].priority = priority
	for t := x.queue.head(); t != nil; t = t.next {
		t.priority = priority
	}
}
