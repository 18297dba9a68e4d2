package guard_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// Two rejections among a few calls say next to nothing about how fast a batch may go, however long the pauses between the calls were.
// It took up to 29 minutes.
func TestABatchAfterFewCalls(t *testing.T) {
	for name, law := range map[string]adaptive.Law{"a law": adaptive.Measured{}, "the default": nil} {
		for _, apart := range []time.Duration{4 * time.Second, 2 * time.Minute} {
			for _, idle := range []time.Duration{0, time.Minute, time.Hour} {
				for reason, last := range map[string]error{
					"rejected again": &adaptive.RateLimitHit{RetryAfter: 3 * time.Second}, "quota used up": adaptive.ErrQuotaExhausted,
				} {
					t.Run(fmt.Sprintf("%s, %v apart, idle for %v, %s", name, apart, idle, reason), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							g := made(t, guard.Policy{Law: law})
							call := func(err error) {
								ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
								defer cancel()
								_ = g.Do(ctx, throttle.Cost{}, func(context.Context) error {
									time.Sleep(time.Second)
									return err
								})
							}
							for range 8 {
								time.Sleep(apart)
								call(nil)
							}
							call(&adaptive.RateLimitHit{RetryAfter: 3 * time.Second})
							time.Sleep(3 * time.Second)
							call(last)
							time.Sleep(idle)
							began := time.Now()
							batch := node.Map("item", func(context.Context, int) (int, error) {
								time.Sleep(time.Second)
								return 0, nil
							}).WithParallel(8).Within(g)
							_, err := batch.All(t.Context(), make([]int, 100))
							require.NoError(t, err)
							assert.Less(t, time.Since(began), 4*time.Minute)
						})
					})
				}
			}
		}
	}
}
