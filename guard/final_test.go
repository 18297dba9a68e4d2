package guard_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
)

// The call fails with its own error, and all others wait.
func TestAFinalRejectionIsLearnedButNotSentAgain(t *testing.T) {
	for _, v := range []adaptive.Verdict{adaptive.Hit, adaptive.Overloaded} {
		synctest.Test(t, func(t *testing.T) {
			for _, law := range []adaptive.Law{adaptive.AIMD{Initial: 8}, adaptive.Measured{Initial: 8}} {
				l := made(t, guard.Policy{Law: law, Detector: func(error) adaptive.Feedback {
					return adaptive.Feedback{Verdict: v, RetryAfter: 30 * time.Second, Final: true}
				}})
				began, calls := time.Now(), 0
				assert.Equal(t, io.EOF, do(t.Context(), l, func(context.Context) error { calls++; return io.EOF }))
				assert.Equal(t, 1, calls)
				assert.Equal(t, began, time.Now())
				assert.Equal(t, int64(1), l.Stats().View.Hits)
				if _, simple := law.(adaptive.AIMD); simple { // Measured makes less of one rejection
					assert.Less(t, l.Stats().View.Concurrency, 8)
				}
				require.NoError(t, do(t.Context(), l, ok(0)))
				assertJittered(t, 30*time.Second, time.Since(began))
			}
		})
	}
}

// The enclosing call returns the error of the call inside: it is reported to the controller once.
func TestAFinalRejectionInsideIsLearnedOnce(t *testing.T) {
	l := made(t, guard.Policy{Law: adaptive.AIMD{Initial: 8}})
	final := answered("X-Should-Retry", "false")
	assert.Equal(t, final, do(t.Context(), l, func(ctx context.Context) error {
		return do(ctx, l, func(context.Context) error { return final })
	}))
	assert.Equal(t, int64(1), l.Stats().View.Hits)
	assert.Equal(t, 4, l.Stats().View.Concurrency)
	assert.Zero(t, l.Stats().InFlight)
}

// Counted as successes they would increase it.
func TestFinalRejectionsDecreaseTheConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Law: adaptive.AIMD{}})
		final := answered("X-Should-Retry", "false", "Retry-After", "30")
		began := time.Now()
		for range 20 {
			assert.Equal(t, final, do(t.Context(), l, func(context.Context) error { return final }))
		}
		assert.Equal(t, 1, l.Stats().View.Concurrency)
		assert.GreaterOrEqual(t, time.Since(began), 19*30*time.Second)
	})
}

func TestAFinalRejectionForAnHourClosesTheGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		final := answered("X-Should-Retry", "false", "Retry-After", "3600")
		assert.Equal(t, final, do(t.Context(), l, func(context.Context) error { return final }))
		require.ErrorAs(t, do(t.Context(), l, ok(0)), new(*adaptive.RateLimitHit))
	})
}
