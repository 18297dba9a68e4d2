package executor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/executor"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/guardtest"
	"github.com/headrace/headrace/throttle"
)

func TestConformance(t *testing.T) {
	open := func(t *testing.T, p guard.Policy, n int) (guardtest.Caller, *guard.Guard) {
		t.Helper()
		x, err := executor.New(executor.Config{Policy: p, Concurrency: n})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, x.Close()) })
		return func(ctx context.Context, c throttle.Cost, a *guardtest.Attempts) error {
			task, err := executor.Submit(ctx, x, func(ctx context.Context) (struct{}, error) { return struct{}{}, a.Do(ctx) },
				executor.WithCost(c), executor.Within(a.Within()))
			if err != nil {
				return err
			}
			_, err = task.Wait(context.WithoutCancel(ctx))
			return err
		}, x.Guard()
	}
	guardtest.Run(t, guardtest.Door{
		Name: "executor",
		Open: func(t *testing.T, p guard.Policy) (guardtest.Caller, *guard.Guard) {
			t.Helper()
			if p.Limits.Concurrency > 0 {
				return open(t, p, 0)
			}
			return open(t, p, 1000)
		},
		Crowded: open,
		Lacks: map[string]string{
			guardtest.Trying:                           "a task waits in the executor's queue",
			guardtest.Bodies:                           "a task ends when it has the whole answer",
			"MaxQueue turns calls away":                "tasks wait in the executor's own queue: see Config.Queue",
			"a context that ends while the call waits": "the executor looks after queued tasks every quarter of a second",
		},
	})
}
