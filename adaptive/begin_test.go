package adaptive_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// A call that is taken apart waits, keeps its place and ends as one of Do.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(1))
		c := l.Begin(throttle.Cost{})
		began := time.Now()
		_, err := c.Admit(t.Context())
		require.NoError(t, err)
		again, err := c.End(adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second})
		assert.NoError(t, err)
		assert.True(t, again)
		assert.Zero(t, l.Throttle().Stats().InFlight)

		ctx, err := c.Admit(t.Context())
		require.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(began), time.Second)
		assert.NoError(t, do(ctx, l, ok(0)), "what is inside takes the permit over")
		for range 2 {
			again, err = c.End(adaptive.Feedback{Verdict: adaptive.Hit, Final: true})
			assert.False(t, again)
			assert.NoError(t, err)
		}
		assert.EqualValues(t, 1, l.View().Hits)
	})
}

func TestEndOfACallThatFoundTheQuotaUsedUp(t *testing.T) {
	l := limiter(t, capped(1))
	c := l.Begin(throttle.Cost{})
	_, err := c.Admit(t.Context())
	require.NoError(t, err)
	again, err := c.End(adaptive.Feedback{Verdict: adaptive.Terminal})
	assert.False(t, again)
	assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	_, err = l.Begin(throttle.Cost{}).Admit(t.Context())
	assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
}
