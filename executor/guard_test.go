package executor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// A timeout also bounds a call that ignores its context: its slot is free, and
// the queue goes on.
func TestTimeoutOfACallThatIgnoresIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1, Policy: guard.Policy{Timeout: time.Second, Breaker: &breaker.Config{Failures: 1}}})
		begun := time.Now()
		task := must(t, x, func(context.Context) (int, error) { time.Sleep(6 * time.Second); return 7, nil })
		next := must(t, x, value(1))
		_, err := task.Wait(t.Context())
		hung, ok := errors.AsType[*fault.HungError](err)
		require.True(t, ok)
		require.ErrorIs(t, hung.Cause, context.DeadlineExceeded)
		assert.Equal(t, Failed, task.State())
		assert.Equal(t, 2*time.Second, time.Since(begun))
		_, err = next.Wait(t.Context())
		require.ErrorIs(t, err, breaker.ErrOpen, "it has counted as a failure")
		assert.Equal(t, 2*time.Second, time.Since(begun))
		synctest.Wait()
		assert.Zero(t, x.Stats().Slots)
		assert.Zero(t, x.Guard().Stats().InFlight)
		assert.Zero(t, x.Stats().Abandoned, "no worker was lost")
		time.Sleep(time.Minute)
		assert.Equal(t, Failed, task.State(), "what it returned in the end changes nothing")
	})
}

// Tasks of one user that wait for its limit do not hold up those of another.
func TestATaskThatWaitsForItsOwnGuardHasNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 2})
		slow, quick := user(t, x, 1), user(t, x, 100)
		var now, most atomic.Int64
		call := func(context.Context) (int, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return 1, nil
		}
		for range 8 {
			must(t, x, call, Within(slow))
		}
		begun := time.Now()
		var tasks []*Task[int]
		for range 4 {
			tasks = append(tasks, must(t, x, call, Within(nil, quick)))
		}
		for _, task := range tasks {
			_, err := task.Wait(t.Context())
			require.NoError(t, err)
		}
		assert.Equal(t, 3*time.Second, time.Since(begun), "five calls, two at a time")
		assert.Zero(t, x.Stats().Tasks[Queued])
		require.NoError(t, x.Join(t.Context()))
		assert.Equal(t, 7*time.Minute+time.Second, time.Since(begun))
		assert.EqualValues(t, 2, most.Load())
	})
}

// The tasks that leave the queue early are bounded: memory and priorities stay with the queue.
func TestTheLookaheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 2})
		slow := user(t, x, 1)
		for range 50 {
			must(t, x, value(1), Within(slow))
		}
		synctest.Wait()
		s := x.Stats()
		assert.EqualValues(t, 1, s.Tasks[Completed])
		assert.EqualValues(t, 2+2*lookahead, s.Tasks[Processing])
		assert.Equal(t, 2, s.Slots)
	})
}

// user is a guard within that of x, with n calls a minute.
func user(t *testing.T, x *Executor, n int64) *guard.Guard {
	t.Helper()
	p := within(throttle.Sliding(n, time.Minute))
	p.Within = []*guard.Guard{x.Guard()}
	g, err := guard.New(p)
	require.NoError(t, err)
	return g
}

// More tasks rest between two attempts than may give their slots up: none waits for another.
func TestManyTasksRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 2, Policy: guard.Policy{
			Retry: &retry.Policy{MaxAttempts: 3, Initial: time.Minute, Multiplier: 1, NoJitter: true},
		}})
		for range 30 {
			must(t, x, fail(errBoom))
		}
		synctest.Wait()
		s := x.Stats()
		assert.EqualValues(t, 2+2*lookahead, s.Tasks[Processing])
		x.Pause()
		time.Sleep(time.Hour)
		assert.Zero(t, x.Stats().Tasks[Failed])
		x.Resume()
		require.NoError(t, x.Join(t.Context()))
		s = x.Stats()
		assert.EqualValues(t, 30, s.Tasks[Failed])
		assert.Zero(t, s.Slots)
		assert.LessOrEqual(t, len(x.workers), 2)
	})
}

// Run makes one attempt: what runs on an executor repeats on its own account.
func TestRunIsNotRepeated(t *testing.T) {
	x := start(t, Config{Policy: guard.Policy{Retry: &retry.Policy{MaxAttempts: 3}}})
	calls := 0
	err := x.Run(t.Context(), throttle.Cost{}, func(context.Context) error { calls++; return errBoom })
	require.ErrorIs(t, err, errBoom)
	assert.Equal(t, 1, calls)
}

// RetryAfter is when the queue is expected to be worked off.
func TestRetryAfterOfAFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Queue: 3, Concurrency: 2})
		sleep := func(context.Context) (int, error) { time.Sleep(8 * time.Second); return 1, nil }
		must(t, x, sleep)
		must(t, x, sleep)
		require.NoError(t, x.Join(t.Context()))
		for range 2 {
			must(t, x, stuck)
		}
		synctest.Wait()
		for range 3 {
			must(t, x, stuck)
		}
		_, err := TrySubmit(t.Context(), x, stuck)
		full, ok := errors.AsType[*QueueFullError](err)
		require.True(t, ok)
		assert.Equal(t, 12*time.Second, full.RetryAfter, "three tasks of eight seconds, two at a time")
		_, err = Submit(t.Context(), x, stuck, WithRoomTimeout(time.Second))
		full, ok = errors.AsType[*QueueFullError](err)
		require.True(t, ok)
		assert.Equal(t, 12*time.Second, full.RetryAfter)
	})
	p := pace{mean: 1000 * time.Hour, known: true}
	assert.Equal(t, 24*time.Hour, p.room(1<<24, 1))
	assert.EqualValues(t, 1, (&pace{known: true}).room(1, 1))
}

// A higher concurrency starts the workers it needs; a lower one stops the surplus.
func TestWorkersFollowTheConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		g := make(gate)
		for range 20 {
			must(t, x, g.call)
		}
		require.NoError(t, x.SetConcurrency(20))
		synctest.Wait()
		assert.EqualValues(t, 20, x.Stats().Tasks[Calling])
		assert.Zero(t, x.Guard().Policy().Limits.Concurrency, "the slots are enough")
		require.NoError(t, x.SetConcurrency(3))
		close(g)
		require.NoError(t, x.Join(t.Context()))
		synctest.Wait()
		assert.Len(t, x.workers, 3)
	})
}

// Tasks with guards of their own may come while calls are out that the guard of
// the executor did not count: there are still not more at a time.
func TestConcurrencyIsABoundForTasksThatLookAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 2})
		user, err := guard.New(within(throttle.Sliding(1, time.Minute)))
		require.NoError(t, err)
		var now, most atomic.Int64
		call := func(context.Context) (int, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(90 * time.Second)
			return 1, nil
		}
		require.NoError(t, user.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
		must(t, x, call)
		synctest.Wait()
		for range 4 {
			must(t, x, call, Within(user))
			must(t, x, call)
		}
		require.NoError(t, x.Join(t.Context()))
		assert.EqualValues(t, 2, most.Load())
		assert.Equal(t, 2, x.Guard().Policy().Limits.Concurrency)
		require.NoError(t, x.SetConcurrency(3))
		assert.Equal(t, 3, x.Guard().Policy().Limits.Concurrency)
	})
}

// Also if the policy sets the concurrency.
func TestARaisedConcurrencyIsUsedAtOnce(t *testing.T) {
	windows := []throttle.Window{throttle.Sliding(1000, time.Minute)}
	for name, c := range map[string]Config{
		"by the executor": {Concurrency: 1, Policy: guard.Policy{Limits: throttle.Limits{Windows: windows}}},
		"by the policy":   {Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 1, Windows: windows}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := start(t, c)
				require.NoError(t, x.SetConcurrency(16))
				begin := time.Now()
				for range 48 {
					must(t, x, func(context.Context) (int, error) { time.Sleep(time.Second); return 1, nil })
				}
				require.NoError(t, x.Join(t.Context()))
				assert.Equal(t, 3*time.Second, time.Since(begin))
			})
		})
	}
}
