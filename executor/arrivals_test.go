package executor

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One worker begins the tasks of a priority in the order in which they were queued, whatever else takes the locks.
func TestArrivalsBeginInOrder(t *testing.T) {
	const submitters, each = 4, 3000
	x := start(t, Config{Queue: 16, Concurrency: 1})
	var begun atomic.Int64
	tasks := make([][]*Task[int64], submitters)
	var wg sync.WaitGroup
	for i := range submitters {
		wg.Go(func() {
			for n := range each {
				task, err := Submit(t.Context(), x, func(context.Context) (int64, error) { return begun.Add(1), nil },
					WithPriority([...]int{0, 0, 0, 0, 0, 0, 1, -1}[n%8]))
				if !assert.NoError(t, err) {
					return
				}
				tasks[i] = append(tasks[i], task)
				switch n % 100 {
				case 0:
					x.Pause()
					x.Resume()
				case 1:
					_ = x.Stats()
				case 2:
					_, _ = task.Wait(t.Context())
				case 3:
					assert.NoError(t, x.Join(t.Context()))
				case 4:
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, x.Join(t.Context()))
	assert.EqualValues(t, submitters*each, x.Stats().Tasks[Completed])
	all := slices.Concat(tasks...)
	slices.SortFunc(all, func(a, b *Task[int64]) int { return int(a.seq - b.seq) })
	last := map[int32]int64{}
	for i, task := range all {
		require.EqualValues(t, i+1, task.seq)
		at, err := task.Wait(t.Context())
		require.NoError(t, err)
		require.Greater(t, at, last[task.priority], "task %d", task.seq)
		last[task.priority] = at
	}
}

// Tasks that wait for each other all run at once, though workers are busy with short ones: each finds a worker.
func TestLongCallsAmongShortOnes(t *testing.T) {
	const long = 8
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			x := start(t, Config{Concurrency: long})
			g := make(gate)
			var wg sync.WaitGroup
			for range long {
				wg.Go(func() {
					for i := range 40 {
						call := value(1)
						if i == 20 {
							call = g.call
						}
						_, err := Submit(t.Context(), x, call)
						assert.NoError(t, err)
					}
				})
			}
			wg.Wait()
			synctest.Wait()
			assert.Equal(t, int64(long), x.Stats().Tasks[Calling])
			close(g)
			assert.NoError(t, x.Join(t.Context()))
		})
	}
}

// A task that arrives as the last worker is about to sleep, or as the executor is paused, resized or stopped, is not forgotten:
// each submitter waits for its task before it submits the next one.
func TestNoArrivalIsForgotten(t *testing.T) {
	const submitters, each = 3, 2000
	x := start(t, Config{Concurrency: 2})
	var wg sync.WaitGroup
	for i := range submitters {
		wg.Go(func() {
			for n := range each {
				task, err := Submit(t.Context(), x, value(n))
				if !assert.NoError(t, err) {
					return
				}
				got, err := task.Wait(t.Context())
				if !assert.NoError(t, err) || !assert.Equal(t, n, got) {
					return
				}
				switch (n + i) % 50 {
				case 0:
					assert.NoError(t, x.SetConcurrency(1+n%3))
				case 1:
					x.Pause()
					runtime.Gosched()
					x.Resume()
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, x.Stop(t.Context()))
	assert.EqualValues(t, submitters*each, x.Stats().Tasks[Completed])
}

// A task whose context ended in the queue makes no attempt.
func TestATaskThatIsTooLateIsNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		g := make(gate)
		must(t, x, g.call)
		ctx, cancel := context.WithCancel(t.Context())
		late, err := Submit(ctx, x, value(1))
		require.NoError(t, err)
		cancel()
		close(g)
		_, err = late.Wait(t.Context())
		require.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, late.Info().Attempts)
		assert.NotContains(t, late.Info().Times, Calling)
		assert.Zero(t, x.Guard().Stats().Admitted-1)
	})
}

// Short tasks take the fast path, and those for which something has to be done do not.
func TestWhichTasksArrive(t *testing.T) {
	if direct {
		t.Skip("the fast path is off")
	}
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Queue: 3, Concurrency: 1})
		arrived := func(opts ...SubmitOption) int {
			_, err := TrySubmit(t.Context(), x, value(1), opts...)
			if err != nil {
				return -1
			}
			x.arrivals.mu.Lock()
			defer x.arrivals.mu.Unlock()
			return x.arrivals.tasks.len
		}
		assert.Equal(t, 0, arrived(), "the first one starts a worker")
		synctest.Wait()
		g := make(gate)
		running := must(t, x, g.call)
		synctest.Wait()
		assert.Equal(t, 1, arrived(), "the worker looks when its call has ended")
		assert.Equal(t, 0, arrived(WithPriority(1)))
		assert.Equal(t, 1, arrived())
		assert.Equal(t, -1, arrived(), "there is no room")
		close(g)
		_, err := running.Wait(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, 0, arrived(), "the worker sleeps")
	})
}

// A call under way puts its task into a full queue. Until it has taken it out again, the queue has no places.
func TestAQueueThatIsMoreThanFullHasNoPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := full(t)
		task := &Task[int]{record: record{x: x, ctx: t.Context()}, do: value(1)}
		task.job = task
		_, err := x.admit(&task.record, true)
		require.NoError(t, err)
		require.True(t, x.enter(&task.record))
		_, err = TrySubmit(t.Context(), x, value(1))
		require.ErrorIs(t, err, ErrQueueFull)
	})
}

// A task that arrives while no call may begin still ends with its context: the watch runs, and is awake.
func TestAnArrivalInAPauseIsWatched(t *testing.T) {
	for _, used := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := start(t, Config{})
			if used {
				_, err := must(t, x, value(1)).Wait(t.Context())
				require.NoError(t, err)
				time.Sleep(2 * look) // the watch dozes
			}
			x.Pause()
			ctx, cancel := context.WithCancelCause(t.Context())
			task, err := Submit(ctx, x, value(1))
			require.NoError(t, err)
			cancel(errBoom)
			time.Sleep(2 * look)
			synctest.Wait()
			assert.Equal(t, Cancelled, task.State())
		})
	}
}

// No task arrives after Stop, also while every slot is in use.
func TestNothingArrivesAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		g := make(gate)
		must(t, x, g.call)
		synctest.Wait()
		var stopping sync.WaitGroup
		stopping.Go(func() { assert.NoError(t, x.Stop(t.Context())) })
		synctest.Wait()
		_, err := Submit(t.Context(), x, value(1))
		require.ErrorIs(t, err, ErrStopped)
		close(g)
		stopping.Wait()
	})
}
