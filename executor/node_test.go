package executor_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/executor"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

func open(t *testing.T, c executor.Config) *executor.Executor {
	t.Helper()
	x, err := executor.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

func within(windows ...throttle.Window) guard.Policy {
	return guard.Policy{Limits: throttle.Limits{Windows: windows}}
}

// peak counts what is under way at the same time.
type peak struct{ now, most atomic.Int64 }

func (p *peak) enter() (leave func()) {
	n := p.now.Add(1)
	for m := p.most.Load(); n > m && !p.most.CompareAndSwap(m, n); m = p.most.Load() {
	}
	return func() { p.now.Add(-1) }
}

// Batches and services share the concurrency and the limits of one executor.
func TestABatchOnAnExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := open(t, executor.Config{Concurrency: 4, Policy: within(throttle.Sliding(20, time.Second))})
		var p peak
		work := func(_ context.Context, i int) (int, error) {
			defer p.enter()()
			time.Sleep(time.Second)
			return i * i, nil
		}
		batch := node.Map("squares", work).WithParallel(8).WithExecutor(x)
		begun := time.Now()
		var tasks []*executor.Task[int]
		for i := range 20 {
			task, err := executor.Submit(t.Context(), x, func(ctx context.Context) (int, error) { return work(ctx, i) })
			require.NoError(t, err)
			tasks = append(tasks, task)
		}
		out, err := batch.All(t.Context(), []int{1, 2, 3, 4, 5, 6, 7, 8})
		require.NoError(t, err)
		assert.Equal(t, []int{1, 4, 9, 16, 25, 36, 49, 64}, out)
		for _, task := range tasks {
			_, err := task.Wait(t.Context())
			require.NoError(t, err)
		}
		assert.EqualValues(t, 4, p.most.Load())
		assert.Equal(t, 7*time.Second, time.Since(begun), "28 calls, four at a time")
		assert.EqualValues(t, 28, x.Stats().Tasks[executor.Completed])
	})
}

// A batch inside of a call of the same executor uses that call's slot, with all slots taken
// by calls that wait for such batches.
func TestABatchInsideOfATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, queue := range []int{1, 100} {
			x := open(t, executor.Config{Queue: queue, Concurrency: 2})
			var p peak
			inner := node.Map("inner", func(_ context.Context, i int) (int, error) {
				defer p.enter()()
				time.Sleep(time.Second)
				return i, nil
			}).WithParallel(4).WithExecutor(x)
			outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
				out, err := inner.All(ctx, []int{i, i + 1, i + 2})
				return len(out), err
			}).WithParallel(5).WithExecutor(x)
			out, err := outer.All(t.Context(), []int{1, 2, 3, 4, 5})
			require.NoError(t, err)
			assert.Equal(t, []int{3, 3, 3, 3, 3}, out)
			assert.EqualValues(t, 2, p.most.Load())
		}
	})
}

// The limiter of the executor receives the refusals of a batch that has no limiter.
func TestRefusalsOfABatchOnAnExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := open(t, executor.Config{Policy: within(throttle.Sliding(100, time.Second))})
		calls := 0
		batch := node.Map("ask", func(context.Context, int) (int, error) {
			if calls++; calls == 1 {
				return 0, &adaptive.RateLimitHit{RetryAfter: time.Minute}
			}
			return calls, nil
		}).WithExecutor(x)
		begun := time.Now()
		out, err := batch.All(t.Context(), []int{1})
		require.NoError(t, err)
		assert.Equal(t, []int{2}, out)
		assert.GreaterOrEqual(t, time.Since(begun), time.Minute)
		assert.EqualValues(t, 1, x.Guard().Stats().View.Hits)
		assert.Zero(t, batch.Guard().Stats().View.Hits)
	})
}

// An executor does not wait for a call that ignores the end of its timeout: the item fails, and the run goes on without it.
func TestAnItemThatHangsOnAnExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := open(t, executor.Config{Policy: guard.Policy{Timeout: time.Second}})
		release := make(chan struct{})
		batch := node.Map("m", func(_ context.Context, i int) (int, error) {
			if i == 2 {
				<-release
			}
			return i, nil
		}).WithExecutor(x).WithParallel(1).WithOnError(node.MaxFailures(1))
		items := []int{1, 2, 3, 4}

		out, err := batch.All(t.Context(), items)
		assert.Equal(t, []int{1, 0, 3, 4}, out)
		failed, ok := errors.AsType[*node.BatchError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, node.Counts{Total: 4, Done: 3, Failed: 1}, failed.Counts)
		require.ErrorAs(t, err, new(*fault.HungError))

		var errs []error
		for r, err := range batch.Stream(t.Context(), node.Slice(items)) {
			require.NoError(t, err)
			errs = append(errs, r.Err)
		}
		require.Len(t, errs, 4)
		require.ErrorAs(t, errs[1], new(*fault.HungError))
		require.NoError(t, errors.Join(errs[0], errs[2], errs[3]))
		close(release)
	})
}

func TestPanicsAndStopsOfABatchOnAnExecutor(t *testing.T) {
	x := open(t, executor.Config{Concurrency: 1})
	_, err := node.Map("panics", func(context.Context, int) (int, error) { panic("boom") }).WithExecutor(x).All(t.Context(), []int{1})
	require.ErrorAs(t, err, new(*fault.PanicError))
	require.NoError(t, x.Close())
	_, err = node.Map("late", func(_ context.Context, i int) (int, error) { return i, nil }).WithExecutor(x).All(t.Context(), []int{1})
	require.ErrorIs(t, err, executor.ErrStopped)
	_, err = node.Map("nil", func(_ context.Context, i int) (int, error) { return i, nil }).WithExecutor(nil).All(t.Context(), nil)
	require.ErrorContains(t, err, "the executor is nil")
	var none *executor.Executor
	err = node.Map("nil", func(_ context.Context, i int) (int, error) { return i, nil }).WithExecutor(none).Validate()
	require.ErrorContains(t, err, "the executor is nil")
}

// A batch that is stopped takes back what waits in the queue.
func TestStoppingABatchOnAnExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := open(t, executor.Config{Concurrency: 1})
		boom := errors.New("boom")
		ctx, cancel := context.WithCancelCause(t.Context())
		batch := node.Map("slow", func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Second)
			cancel(boom) // by the first to come
			time.Sleep(time.Second)
			return i, nil
		}).WithParallel(3).WithExecutor(x)
		_, err := batch.All(ctx, []int{0, 1, 2, 3})
		require.ErrorIs(t, err, boom)
		s := x.Stats()
		assert.EqualValues(t, 1, s.Tasks[executor.Completed], "what had begun was let finish")
		assert.EqualValues(t, 2, s.Tasks[executor.Cancelled])
	})
}

func TestTheCostOfABatchOnAnExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := open(t, executor.Config{Policy: within(throttle.Sliding(10, time.Second).Of(throttle.Tokens))})
		begun := time.Now()
		_, err := node.Map("tokens", func(_ context.Context, i int) (int, error) { return i, nil }).
			WithCost(func(int) throttle.Cost { return throttle.Cost{Tokens: 5} }).WithParallel(4).WithExecutor(x).
			All(t.Context(), []int{1, 2, 3, 4})
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(begun))
	})
}
