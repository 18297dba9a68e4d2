package executor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
)

// With every worker left behind, Stop waits for nothing once the queue is empty.
func TestStopWithCallsThatDoNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		release := hang(t, x, 2)
		queued := must(t, x, value(1))
		stopped := make(chan error)
		go func() { stopped <- x.Stop(context.Background()) }()
		time.Sleep(time.Hour)
		select {
		case err := <-stopped:
			assert.NoError(t, err)
			assert.Fail(t, "a task is queued, and the hung may come back")
		default:
		}
		queued.Cancel()
		require.NoError(t, <-stopped)
		close(release)
	})
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		release := hang(t, x, 2)
		require.NoError(t, x.Stop(context.Background()))
		close(release)
	})
}

// A call cannot wait for itself.
func TestStopInsideOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		task := must(t, x, func(ctx context.Context) (int, error) {
			assert.ErrorIs(t, x.Join(ctx), ErrInside)
			within, cancel := context.WithCancel(ctx)
			defer cancel()
			return 1, x.Stop(within)
		})
		_, err := task.Wait(t.Context())
		require.ErrorIs(t, err, ErrInside)
		_, err = must(t, x, value(1)).Wait(t.Context())
		require.NoError(t, err, "nothing has happened")

		task = must(t, x, func(context.Context) (int, error) { return 1, x.Close() })
		_, err = task.Wait(t.Context())
		require.ErrorAs(t, err, new(*fault.HungError), "Close does not wait for it for long")
	})
}

// What was never started says so too when it has stopped.
func TestCloseTellsAlsoWithoutAStart(t *testing.T) {
	var told []event.Kind
	x := start(t, Config{Policy: guard.Policy{
		Observer: event.Func(func(e event.Event) { told = append(told, e.Kind) }),
	}})
	s := x.Subscribe(1 << 60)
	require.NoError(t, x.Close())
	_, open := <-s.C()
	assert.False(t, open)
	assert.Equal(t, []event.Kind{event.ExecutorStopping, event.ExecutorStopped}, told)
}
