package executor

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// A call that has ended has no slot to lend: the goroutines it left behind wait like all others.
func TestACallThatIsOverLendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		var now, most atomic.Int64
		work := func(context.Context) (int, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return 0, nil
		}
		for range 3 {
			must(t, x, func(ctx context.Context) (int, error) {
				own := context.WithoutCancel(ctx)
				_ = ctx.Done() // it has more than its task from now on
				go func() {
					time.Sleep(time.Second)
					in, err := Submit(own, x, work)
					if assert.NoError(t, err) {
						_, _ = in.Wait(own)
					}
				}()
				return 0, nil
			})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.EqualValues(t, 1, most.Load())
	})
}

// A task that ends the goroutine of the call which works on it ends both, and no worker is lost.
func TestGoexitInALentSlot(t *testing.T) {
	x := start(t, Config{Concurrency: 1, Policy: within(throttle.Sliding(100, time.Second))})
	outer := must(t, x, func(ctx context.Context) (int, error) {
		in, err := Submit(ctx, x, func(context.Context) (int, error) { runtime.Goexit(); return 1, nil })
		if err != nil {
			return 0, err
		}
		return in.Wait(ctx)
	})
	_, err := outer.Wait(t.Context())
	require.ErrorIs(t, err, errGoexit)
	_, err = must(t, x, value(1)).Wait(t.Context())
	require.NoError(t, err)
}

// A shared guard that is closed has tasks fail unsent.
func TestAQuotaThatIsGone(t *testing.T) {
	shared, err := guard.New(guard.Policy{})
	require.NoError(t, err)
	x := start(t, Config{Policy: guard.Policy{Within: []*guard.Guard{shared}}, Concurrency: 1})
	calls := 0
	for range 3 {
		task := must(t, x, func(ctx context.Context) (int, error) {
			calls++
			guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Terminal})
			return 0, nil
		})
		_, err := task.Wait(t.Context())
		require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
		assert.Equal(t, Failed, task.State())
	}
	assert.Equal(t, 1, calls)
}

// A refusal that came without an error is on record without one.
func TestALogOfARefusalWithoutAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Policy: within(throttle.Sliding(100, time.Second))})
		calls := 0
		task := must(t, x, func(ctx context.Context) (int, error) {
			if calls++; calls == 1 {
				guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Minute})
			}
			return 0, nil
		})
		_, err := task.Wait(t.Context())
		require.NoError(t, err)
		var found bool
		for _, line := range task.Info().Log {
			found = found || line.Text == "rejected for rate, waits 1m0s or longer for the next attempt"
		}
		assert.True(t, found, "%v", task.Info().Log)
	})
}

// A retained task does not retain what its call refers to.
func TestATaskThatIsOverHoldsNothing(t *testing.T) {
	x := start(t, Config{Concurrency: 1})
	x.Pause()
	tasks := []*Task[int]{must(t, x, value(1)), must(t, x, value(1))}
	tasks[0].Cancel()
	x.Resume()
	require.NoError(t, x.Join(t.Context()))
	for _, task := range tasks {
		assert.True(t, task.State().Terminal())
		assert.Nil(t, task.do)
	}
}

// counter is an observer.
type counter struct {
	mu    sync.Mutex // guards kinds
	kinds []event.Kind
}

func (c *counter) Observe(e event.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds = append(c.kinds, e.Kind)
}

// An observer of both the executor and the context of a task gets each event once.
func TestAnObserverIsToldOnce(t *testing.T) {
	c := &counter{}
	x := start(t, Config{Policy: guard.Policy{Observer: c}, Concurrency: 1})
	x.Pause()
	_, err := Submit(event.With(t.Context(), c), x, value(1))
	require.NoError(t, err)
	x.Resume()
	require.NoError(t, x.Close())
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[event.Kind]int{}
	for _, kind := range c.kinds {
		seen[kind]++
	}
	assert.Equal(t, 1, seen[event.TaskQueued])
}
