package throttle_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// 999 calls wait ahead, at one per second, or 60 of each minute, or as many of each hour.
func TestADeadlineAndARetryAfterCountWhatIsQueued(t *testing.T) {
	for name, tc := range map[string]struct {
		window throttle.Window
		least  time.Duration
	}{
		"bucket":   {throttle.Bucket(1, 1), 1000 * time.Second},
		"sliding":  {throttle.Sliding(60, time.Minute), 16 * time.Minute},
		"calendar": {throttle.Fixed(100, time.Hour, time.Time{}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limited(t, within(tc.window))
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for range 1000 {
					wg.Go(func() {
						if p, err := l.Acquire(ctx, throttle.Cost{}); err == nil {
							p.Release()
						}
					})
				}
				synctest.Wait()
				_, err := l.TryAcquire(throttle.Cost{})
				var limited *throttle.LimitedError
				require.ErrorAs(t, err, &limited)
				assert.GreaterOrEqual(t, limited.RetryAfter, tc.least)

				short, done := context.WithTimeout(ctx, tc.least/2+time.Second)
				defer done()
				begin := time.Now()
				_, err = l.Acquire(short, throttle.Cost{})
				var late *throttle.DeadlineError
				require.ErrorAs(t, err, &late)
				assert.Equal(t, begin, time.Now(), "it fails at once")

				cancel()
				wg.Wait()
				assert.Zero(t, l.Stats().Waiting)
			})
		})
	}
}
