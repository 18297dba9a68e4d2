package executor

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func TestSubmitAndWait(t *testing.T) {
	x := start(t, Config{})
	task := must(t, x, value("hi"))
	got, err := task.Wait(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "hi", got)
	assert.Equal(t, Completed, task.State())
	assert.Equal(t, "executor-1", task.ID())
	<-task.Done()
	_, err = must(t, x, fail(errBoom)).Wait(t.Context())
	require.ErrorIs(t, err, errBoom)
	require.NoError(t, x.Join(t.Context()))
	s := x.Stats()
	assert.EqualValues(t, 2, submitted(s))
	assert.EqualValues(t, 1, s.Tasks[Completed])
	assert.EqualValues(t, 1, s.Tasks[Failed])
}

func TestConcurrencyIsABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 3})
		g := gate(make(chan struct{}))
		tasks := make([]*Task[int], 8)
		for i := range tasks {
			tasks[i] = must(t, x, g.call)
		}
		synctest.Wait()
		s := x.Stats()
		assert.Equal(t, 3, s.Slots)
		assert.EqualValues(t, 3, s.Tasks[Calling])
		assert.EqualValues(t, 5, s.Tasks[Queued])

		require.NoError(t, x.SetConcurrency(5))
		synctest.Wait()
		assert.EqualValues(t, 5, x.Stats().Tasks[Calling])
		require.Error(t, x.SetConcurrency(1<<20+1))
		require.Error(t, x.SetConcurrency(0))

		require.NoError(t, x.SetConcurrency(1))
		g <- struct{}{}
		synctest.Wait()
		assert.EqualValues(t, 4, x.Stats().Tasks[Calling], "no task begins above a lowered bound")
		close(g)
		require.NoError(t, x.Join(t.Context()))
		assert.EqualValues(t, 8, x.Stats().Tasks[Completed])
	})
}

func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Queue: 2, Concurrency: 1})
		g := gate(make(chan struct{}))
		for range 3 {
			must(t, x, g.call)
			synctest.Wait()
		}
		_, err := TrySubmit(t.Context(), x, g.call)
		full, ok := errors.AsType[*QueueFullError](err)
		require.True(t, ok)
		assert.Equal(t, QueueFullError{executor: "executor", Depth: 2, RetryAfter: time.Second}, *full)
		require.ErrorIs(t, err, ErrQueueFull)

		begun := time.Now()
		_, err = Submit(t.Context(), x, g.call, WithRoomTimeout(3*time.Second))
		require.ErrorIs(t, err, ErrQueueFull)
		require.ErrorContains(t, err, "after 3s")
		assert.Equal(t, 3*time.Second, time.Since(begun))

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
		defer cancel()
		_, err = Submit(ctx, x, g.call)
		require.ErrorIs(t, err, errBoom)

		// Submitters get room in the order of their arrival.
		var order []int
		for i := range 3 {
			go func() {
				_, err := Submit(context.WithoutCancel(t.Context()), x, func(context.Context) (int, error) {
					order = append(order, i)
					return 0, nil
				})
				assert.NoError(t, err)
			}()
			synctest.Wait()
		}
		assert.EqualValues(t, 3, x.Stats().Tasks[Pending])
		close(g)
		require.NoError(t, x.Join(t.Context()))
		assert.Equal(t, []int{0, 1, 2}, order)
		assert.EqualValues(t, 6, submitted(x.Stats()), "the others got no room")
	})
}

func TestPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		x.Pause()
		var order []int
		for _, p := range []int{0, 5, -1, 5, 0, 7} {
			must(t, x, func(context.Context) (int, error) {
				order = append(order, p*10+len(order))
				return 0, nil
			}, WithPriority(p))
		}
		synctest.Wait()
		assert.Empty(t, order)
		x.Resume()
		require.NoError(t, x.Join(t.Context()))
		assert.Equal(t, []int{70, 51, 52, 3, 4, -5}, order)
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		working, queued := must(t, x, stuck), must(t, x, value(1))
		synctest.Wait()
		queued.Cancel()
		_, err := queued.Wait(t.Context())
		require.ErrorIs(t, err, ErrCancelled)
		assert.Equal(t, Cancelled, queued.State())
		assert.Zero(t, queued.Info().Attempts)

		working.Cancel()
		_, err = working.Wait(t.Context())
		require.ErrorIs(t, err, ErrCancelled)
		assert.Equal(t, Cancelled, working.State())
		working.Cancel()

		done := must(t, x, value(1))
		_, err = done.Wait(t.Context())
		require.NoError(t, err)
		done.Cancel()
		assert.Equal(t, Completed, done.State())
		_, err = done.Wait(t.Context())
		require.NoError(t, err)
	})
}

// A task ends with the context it was submitted with, also before a worker takes it.
func TestTheContextOfATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		must(t, x, stuck)
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		task, err := Submit(ctx, x, value(1))
		require.NoError(t, err)
		timed, err := Submit(t.Context(), x, value(1), WithDeadline(time.Now().Add(time.Second)))
		require.NoError(t, err)
		cancel(errBoom)
		time.Sleep(look)
		synctest.Wait()
		assert.Equal(t, Cancelled, task.State())
		_, err = task.Wait(t.Context())
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, Queued, timed.State())
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, Failed, timed.State())
		_, err = timed.Wait(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = Submit(ctx, x, value(1))
		require.ErrorIs(t, err, errBoom)
	})
}

func TestDeadlineOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{})
		begun := time.Now()
		task := must(t, x, stuck, WithDeadline(begun.Add(time.Minute)))
		_, err := task.Wait(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, Failed, task.State())
		assert.Equal(t, time.Minute, time.Since(begun))
	})
}

func TestStopDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 2})
		for range 10 {
			must(t, x, func(context.Context) (int, error) {
				time.Sleep(time.Second)
				return 0, nil
			})
		}
		begun := time.Now()
		require.NoError(t, x.Stop(t.Context()))
		assert.Equal(t, 5*time.Second, time.Since(begun))
		assert.EqualValues(t, 10, x.Stats().Tasks[Completed])
		_, err := Submit(t.Context(), x, value(1))
		require.ErrorIs(t, err, ErrStopped)
		_, err = TrySubmit(t.Context(), x, value(1))
		require.ErrorIs(t, err, ErrStopped)
		require.NoError(t, x.Stop(t.Context()))
		require.NoError(t, x.Close())
		<-x.Done()
	})
}

func TestStopRunsOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Queue: 1, Concurrency: 1})
		first := must(t, x, stuck)
		synctest.Wait()
		second := must(t, x, value(1))
		refused := make(chan error)
		go func() {
			_, err := Submit(context.WithoutCancel(t.Context()), x, value(1))
			refused <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errBoom)
		defer cancel()
		begun := time.Now()
		require.ErrorIs(t, x.Stop(ctx), errBoom)
		assert.Equal(t, time.Minute, time.Since(begun))
		require.ErrorIs(t, <-refused, ErrStopped)
		for _, task := range []*Task[int]{first, second} {
			assert.Equal(t, Cancelled, task.State())
			_, err := task.Wait(t.Context())
			require.ErrorIs(t, err, ErrStopped)
		}
	})
}

func TestCloseOfWhatWasNeverStarted(t *testing.T) {
	x, err := New(Config{})
	require.NoError(t, err)
	require.NoError(t, x.Close())
	require.NoError(t, x.Close())
	_, err = Submit(t.Context(), x, value(1))
	require.ErrorIs(t, err, ErrStopped)
	require.NoError(t, x.Join(t.Context()))
}

func TestPanicAndGoexit(t *testing.T) {
	x := start(t, Config{Concurrency: 1})
	_, err := must(t, x, func(context.Context) (int, error) { panic(errBoom) }).Wait(t.Context())
	panicked, ok := errors.AsType[*fault.PanicError](err)
	require.True(t, ok)
	assert.Contains(t, string(panicked.Stack), "TestPanicAndGoexit")
	require.ErrorIs(t, err, errBoom)
	deep := must(t, x, func(context.Context) (int, error) { panic("at the bottom") },
		WithRequest("GET", "https://example.org/?key=TestPanicAndGoexit", nil, nil))
	_, err = deep.Wait(t.Context())
	require.Error(t, err)
	info := deep.Info()
	assert.Contains(t, info.Error.Stack, "executor_test.go")
	assert.NotContains(t, info.Error.Stack, "TestPanicAndGoexit", "it is a secret of the request")
	assert.LessOrEqual(t, len(info.Error.Stack), 8<<10)
	task := must(t, x, func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
	_, err = task.Wait(t.Context())
	require.ErrorIs(t, err, errGoexit)
	assert.Equal(t, Failed, task.State())
	_, err = must(t, x, value(1)).Wait(t.Context())
	require.NoError(t, err, "the worker is there")
}

func TestACallThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		release := make(chan struct{})
		hang := func(context.Context) (int, error) { <-release; return 7, nil }
		task := must(t, x, hang)
		synctest.Wait()
		task.Cancel()
		begun := time.Now()
		_, err := task.Wait(t.Context())
		hung, ok := errors.AsType[*fault.HungError](err)
		require.True(t, ok)
		assert.Equal(t, patience, hung.After)
		assert.Equal(t, Cancelled, task.State())
		assert.GreaterOrEqual(t, time.Since(begun), patience)
		assert.LessOrEqual(t, time.Since(begun), patience+2*look)
		assert.Equal(t, 1, x.Stats().Abandoned)

		_, err = must(t, x, value(1)).Wait(t.Context())
		require.NoError(t, err, "another worker has its place")

		// The second is left behind too, and not replaced: there are as many as workers.
		task = must(t, x, hang)
		synctest.Wait()
		task.Cancel()
		_, err = task.Wait(t.Context())
		require.ErrorAs(t, err, &hung)
		after := must(t, x, value(1))
		time.Sleep(time.Hour)
		assert.Equal(t, Queued, after.State())
		assert.Equal(t, 2, x.Stats().Abandoned)
		close(release)
		_, err = after.Wait(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		assert.Zero(t, x.Stats().Abandoned)
		assert.Equal(t, Cancelled, task.State(), "what it returned in the end changes nothing")
	})
}

func TestCloseWithACallThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{})
		release := make(chan struct{})
		task := must(t, x, func(context.Context) (int, error) { <-release; return 7, nil })
		synctest.Wait()
		require.NoError(t, x.Close())
		assert.Equal(t, Cancelled, task.State())
		close(release)
	})
}

func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1, Policy: guard.Policy{Retry: &retry.Policy{Initial: time.Second, NoJitter: true}}})
		calls := 0
		task := must(t, x, func(context.Context) (int, error) {
			if calls++; calls < 3 {
				return 0, errBoom
			}
			return calls, nil
		})
		synctest.Wait()
		assert.Equal(t, Processing, task.State())
		other := must(t, x, value(1))
		_, err := other.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, Processing, task.State(), "between two attempts the slot is free")
		begun := time.Now()
		n, err := task.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		assert.Equal(t, 3*time.Second, time.Since(begun))
		assert.Equal(t, 3, task.Info().Attempts)
		assert.Equal(t, 3*time.Second, task.Info().Waited)

		// A pause holds another attempt back, and cancelling ends the wait for it.
		calls = 0
		task = must(t, x, func(context.Context) (int, error) { calls++; return 0, errBoom })
		synctest.Wait()
		x.Pause()
		time.Sleep(time.Minute)
		assert.Equal(t, 1, calls)
		task.Cancel()
		_, err = task.Wait(t.Context())
		require.ErrorIs(t, err, ErrCancelled)
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, Cancelled, task.State())
		x.Resume()
		_, err = must(t, x, fail(errBoom)).Wait(t.Context())
		require.ErrorIs(t, err, errBoom)
	})
}

func TestLimitsAndTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{
			Policy:      within(throttle.Sliding(2, time.Second), throttle.Bucket(1.0/6, 10).Of(throttle.Tokens)),
			Concurrency: 1,
		})
		begun := time.Now()
		var tasks []*Task[int]
		for range 3 {
			tasks = append(tasks, must(t, x, func(ctx context.Context) (int, error) {
				guard.Use(ctx, throttle.Cost{Tokens: 1})
				return 1, nil
			}, WithCost(throttle.Cost{Tokens: 3})))
		}
		_, err := tasks[2].Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(begun))
		info := tasks[2].Info()
		assert.Equal(t, throttle.Cost{Requests: 1, Tokens: 1}, info.Used)
		assert.Equal(t, throttle.Cost{Tokens: 3}, info.Cost)
		assert.Equal(t, time.Second, info.Waited)
		var lines []string
		for _, e := range info.Log {
			lines = append(lines, e.Text)
		}
		assert.Equal(t, []string{
			"submitted", "queued, after 0s for room", "acquired slot, after 0s in the queue",
			"waited 1s for 2/s", "called", "completed after 1s",
		}, lines)
		var left []int64
		for _, w := range x.Guard().Stats().Windows {
			left = append(left, w.Left)
		}
		assert.Equal(t, []int64{1, 7}, left)
	})
}

// Without limits there is nothing to wait for, until the provider refuses.
func TestARefusalWithoutLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{})
		calls := 0
		begun := time.Now()
		task := must(t, x, func(context.Context) (int, error) {
			if calls++; calls <= 2 {
				return 0, &adaptive.RateLimitHit{RetryAfter: 5 * time.Second}
			}
			return calls, nil
		})
		synctest.Wait()
		assert.Equal(t, Processing, task.State())
		n, err := task.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		assert.GreaterOrEqual(t, time.Since(begun), 10*time.Second)
		assert.Equal(t, 3, task.Info().Attempts)
		assert.True(t, slices.ContainsFunc(task.Info().Log, func(e LogEntry) bool {
			return len(e.Text) > 20 && e.Text[:17] == "rejected for rate"
		}))
		_, err = must(t, x, fail(adaptive.ErrQuotaExhausted)).Wait(t.Context())
		require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := within(throttle.Sliding(100, time.Second))
		p.Breaker = &breaker.Config{Failures: 2}
		x := start(t, Config{Policy: p, Concurrency: 1})
		for range 2 {
			_, err := must(t, x, fail(errBoom)).Wait(t.Context())
			require.ErrorIs(t, err, errBoom)
		}
		task := must(t, x, value(1))
		_, err := task.Wait(t.Context())
		require.ErrorIs(t, err, breaker.ErrOpen)
		assert.Equal(t, Failed, task.State())
		assert.Zero(t, task.Info().Attempts)
		assert.EqualValues(t, 98, x.Guard().Stats().Windows[0].Left, "nothing was sent")
	})
}
