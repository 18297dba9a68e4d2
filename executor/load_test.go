package executor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/executor"
	"github.com/headrace/headrace/telemetry"
	"github.com/headrace/headrace/throttle"
)

var _ telemetry.Pool = (*executor.Executor)(nil)

// What metrics look at is what there is.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := open(t, executor.Config{
			Name: "x", Queue: 2, Concurrency: 2,
			Policy: within(throttle.Sliding(1, time.Minute), throttle.Sliding(10, time.Minute).Of(throttle.Tokens)),
		})
		for range 5 {
			go func() {
				_, _ = executor.Submit(t.Context(), x, func(ctx context.Context) (int, error) {
					<-ctx.Done()
					return 0, nil
				}, executor.WithCost(throttle.Cost{Tokens: 3}))
			}()
		}
		synctest.Wait()
		assert.Equal(t, event.Load{
			Name: "x", Pending: 1, Queued: 2, Processing: 1, Calling: 1, Slots: 2, Concurrency: 2,
			Windows: []event.WindowLeft{
				{Window: "1/min", Unit: "requests", Left: 0},
				{Window: "10 tokens/min", Unit: "tokens", Left: 7},
			},
		}, x.Load())
		require.NoError(t, x.Close())
		assert.Equal(t, event.Load{Name: "x", Concurrency: 2}, without(x.Load()))
	})
}

func without(l event.Load) event.Load {
	l.Windows = nil
	return l
}
