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
	guardtest.Run(t, guardtest.Door{
		Name: "executor",
		Open: func(t *testing.T, p guard.Policy) (guardtest.Caller, *guard.Guard) {
			t.Helper()
			c := executor.Config{Policy: p}
			if p.Limits.Concurrency == 0 {
				c.Concurrency = 1000
			}
			x, err := executor.New(c)
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
		},
		Lacks: map[string]string{
			"MaxQueue turns calls away":                "tasks wait in the executor's own queue: see Config.Queue",
			"a context that ends while the call waits": "the executor looks after queued tasks every quarter of a second",
		},
	})
}
