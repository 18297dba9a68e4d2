package flowtest_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/flow/flowtest"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// story is a run with everything that goes on at the same instant: workers that
// queue at a limiter, hidden limits that refuse, failures, random latencies.
func story(t *testing.T) (told string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rec := flowtest.New(t)
		api := rec.NewProvider("api").
			For("c", flowtest.Fail(http.StatusInternalServerError)).
			At(7, flowtest.Refuse(1500*time.Millisecond)).
			Limit(8, 10*time.Second).
			Otherwise(flowtest.OK().TakingBetween(time.Second, 2*time.Second))
		ask := node.Map("ask", func(ctx context.Context, key string) (string, error) { return api.Call(ctx, key) }).
			WithParallel(4).WithRetry(retry.Policy{NoJitter: true}).
			WithLimits(throttle.Limits{Concurrency: 3, Windows: []throttle.Window{throttle.Sliding(4, time.Second)}})
		items := flowtest.InOrder("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n")
		for _, err := range ask.Stream(rec.Context(), items) {
			require.NoError(t, err)
		}
		told = rec.String()
	})
	return told
}

func TestTheSameStoryEveryTime(t *testing.T) {
	first := story(t)
	for range 20 {
		require.Equal(t, first, story(t))
	}
	t.Log("\n" + first)
}
