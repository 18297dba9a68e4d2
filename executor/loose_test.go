package executor

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
)

// A task that needs no admission is its own context: it costs the task and the closure.
func TestAllocationsOfATask(t *testing.T) {
	x := start(t, Config{Queue: 100})
	got := testing.AllocsPerRun(10, func() {
		for i := range 100 {
			if _, err := Submit(t.Context(), x, func(context.Context) (int, error) { return i, nil }); err != nil {
				t.Error(err)
			}
		}
		for x.Stats().Tasks[Completed]%100 != 0 {
			runtime.Gosched()
		}
	})
	assert.LessOrEqual(t, got, 220.0)
}

// What is reported in a call without admission counts until it has returned.
func TestAReportInACallWithoutAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{})
		var contexts []context.Context
		task := must(t, x, func(ctx context.Context) (int, error) {
			assert.Nil(t, inflight.WatcherOf(ctx))
			assert.Equal(t, 1, inflight.Of(ctx).Number())
			if contexts = append(contexts, ctx); len(contexts) == 1 {
				guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second})
			}
			return len(contexts), nil
		})
		n, err := task.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 2, n, "it is made again")
		assert.NotSame(t, inflight.Of(contexts[0]), inflight.Of(contexts[1]))
		assert.False(t, inflight.Of(contexts[0]).Abandon(nil))
		assert.Contains(t, task.Info().Log[3].Text, "rejected for rate")
		assert.EqualValues(t, 1, x.Guard().Stats().View.Hits)
	})
}

// A context that is used after the task says nothing about any call.
func TestALateReportOfACallWithoutAdmission(t *testing.T) {
	for _, asked := range []bool{false, true} {
		x := start(t, Config{})
		var late context.Context
		_, err := must(t, x, func(ctx context.Context) (int, error) {
			if late = ctx; asked {
				ctx.Done()
			}
			return 1, nil
		}).Wait(t.Context())
		require.NoError(t, err)
		guard.Report(late, adaptive.Feedback{Verdict: adaptive.Hit})
		assert.False(t, inflight.Of(late).Abandon(nil))
		assert.Zero(t, x.Guard().Stats().View.Hits)
		assert.Zero(t, x.Guard().Stats().InFlight)
	}
}

// A call that needs no admission is in flight only if it begins: an observer may end the goroutine before that.
func TestACallWithoutAdmissionThatDoesNotBegin(t *testing.T) {
	x := start(t, Config{Policy: guard.Policy{Observer: event.Func(func(e event.Event) {
		if e.Kind == event.TaskStarted {
			runtime.Goexit()
		}
	})}})
	_, err := must(t, x, value(1)).Wait(t.Context())
	require.ErrorIs(t, err, errGoexit)
	assert.Zero(t, x.Guard().Stats().InFlight)
	assert.Zero(t, x.Guard().Stats().Admitted)
}
