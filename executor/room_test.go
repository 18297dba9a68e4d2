package executor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// full is an executor without room.
func full(t *testing.T) *Executor {
	t.Helper()
	x := start(t, Config{Queue: 1, Concurrency: 1})
	must(t, x, stuck)
	synctest.Wait()
	must(t, x, stuck)
	return x
}

// A task does not wait for room beyond its deadline.
func TestADeadlineBeforeThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := full(t)
		begun := time.Now()
		_, err := Submit(t.Context(), x, value(1), WithDeadline(begun.Add(time.Second)), WithRoomTimeout(time.Minute))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(begun))
		_, err = Submit(t.Context(), x, value(1), WithDeadline(begun.Add(time.Hour)), WithRoomTimeout(time.Second))
		require.ErrorIs(t, err, ErrQueueFull)
		assert.Equal(t, 2*time.Second, time.Since(begun))
		_, err = Submit(t.Context(), x, value(1), WithDeadline(begun), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded, "that was over already, and an option that is nil is none")
		assert.Zero(t, x.Stats().Tasks[Pending])
	})
}

// What a batch waits for room with is given up when the batch is stopped.
func TestTheIntakeEndsBeforeThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := full(t)
		in, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(errBoom) })
		begun := time.Now()
		err := x.Run(intake.With(t.Context(), in), throttle.Cost{}, func(context.Context) error { return nil })
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, time.Second, time.Since(begun))
	})
}

// Every worker hangs in a call: a queued task still ends at its deadline.
func TestADeadlineWithoutWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, Config{Concurrency: 1})
		release := hang(t, x, 2)
		time.Sleep(time.Minute)
		task := must(t, x, value(1), WithDeadline(time.Now().Add(time.Second)))
		time.Sleep(time.Second + look)
		synctest.Wait()
		assert.Equal(t, Failed, task.State())
		close(release)
	})
}

// hang leaves n calls behind, until release is closed.
func hang(t *testing.T, x *Executor, n int) (release chan struct{}) {
	t.Helper()
	release = make(chan struct{})
	for range n {
		task := must(t, x, func(context.Context) (int, error) { <-release; return 7, nil })
		synctest.Wait()
		task.Cancel()
		_, err := task.Wait(t.Context())
		require.ErrorAs(t, err, new(*fault.HungError))
	}
	return release
}
