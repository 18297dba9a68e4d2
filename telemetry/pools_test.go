package telemetry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/executor"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/telemetry"
	"github.com/headrace/headrace/throttle"
)

// What metrics look at is what there is.
func TestTheLoadOfAnExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := throttle.Limits{Windows: []throttle.Window{
			throttle.Sliding(1, time.Minute), throttle.Sliding(10, time.Minute).Of(throttle.Tokens),
		}}
		x, err := executor.New(executor.Config{Name: "x", Queue: 2, Concurrency: 2, Policy: guard.Policy{Limits: limits}})
		require.NoError(t, err)
		r, o := record(t, telemetry.Config{})
		defer o.WatchExecutors(x, nil, x)()
		for range 5 {
			go func() {
				_, _ = executor.Submit(t.Context(), x, func(ctx context.Context) (int, error) {
					<-ctx.Done()
					return 0, nil
				}, executor.WithCost(throttle.Cost{Tokens: 3}))
			}()
		}
		synctest.Wait()
		assert.Equal(t, []string{
			"headrace.executor.concurrency=2 headrace.executor.name=x",
			"headrace.executor.slots=2 headrace.executor.name=x",
			"headrace.executor.tasks=1 headrace.executor.name=x headrace.task.state=calling",
			"headrace.executor.tasks=1 headrace.executor.name=x headrace.task.state=pending",
			"headrace.executor.tasks=1 headrace.executor.name=x headrace.task.state=processing",
			"headrace.executor.tasks=2 headrace.executor.name=x headrace.task.state=queued",
			"headrace.executor.window.left=0 headrace.executor.name=x headrace.unit=requests headrace.window=1/min",
			"headrace.executor.window.left=7 headrace.executor.name=x headrace.unit=tokens headrace.window=10 tokens/min",
		}, r.looked(t))
		require.NoError(t, x.Close())
		assert.Equal(t, []string{
			"headrace.executor.concurrency=2 headrace.executor.name=x",
			"headrace.executor.slots=0 headrace.executor.name=x",
			"headrace.executor.tasks=0 headrace.executor.name=x headrace.task.state=calling",
			"headrace.executor.tasks=0 headrace.executor.name=x headrace.task.state=pending",
			"headrace.executor.tasks=0 headrace.executor.name=x headrace.task.state=processing",
			"headrace.executor.tasks=0 headrace.executor.name=x headrace.task.state=queued",
		}, r.looked(t)[:6])
	})
}
