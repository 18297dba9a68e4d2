package guard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
		c := l.Begin(throttle.Cost{})
		began := time.Now()
		_, err := c.Admit(t.Context())
		require.NoError(t, err)
		again, err := c.End(adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second})
		assert.NoError(t, err)
		assert.True(t, again)
		assert.Zero(t, l.Stats().InFlight)

		ctx, err := c.Admit(t.Context())
		require.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(began), time.Second)
		assert.NoError(t, do(ctx, l, ok(0)), "what is inside takes the permit over")
		for range 2 {
			again, err = c.End(adaptive.Feedback{Verdict: adaptive.Hit, Final: true})
			assert.False(t, again)
			assert.NoError(t, err)
		}
		assert.EqualValues(t, 1, l.Stats().View.Hits)
	})
}

func TestEndOfACallWithAUsedUpQuota(t *testing.T) {
	l := made(t, capped(1))
	c := l.Begin(throttle.Cost{})
	_, err := c.Admit(t.Context())
	require.NoError(t, err)
	again, err := c.End(adaptive.Feedback{Verdict: adaptive.Terminal})
	assert.False(t, again)
	assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	_, err = l.Begin(throttle.Cost{}).Admit(t.Context())
	assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
}

// The quota in a header holds for other calls while the call goes on.
func TestApplyMeters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meters [throttle.Units]adaptive.Meter
		meters[throttle.Requests] = adaptive.Meter{Known: true, Limit: 10, Remaining: 0, Reset: 10 * time.Second}
		l := made(t, guard.Policy{Law: adaptive.Measured{}})
		long := l.Begin(throttle.Cost{})
		assert.False(t, long.ApplyMeters(meters), "nothing is in progress")
		ctx, err := long.Admit(t.Context())
		require.NoError(t, err)
		require.True(t, long.ApplyMeters(meters))
		began := time.Now()
		other := l.Begin(throttle.Cost{})
		_, err = other.Admit(t.Context())
		require.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(began), 500*time.Millisecond)
		assert.NoError(t, do(ctx, l, ok(0)), "takes the permit over")
		assert.False(t, long.ApplyMeters(meters), "the permit is gone")
		_, _ = long.End(adaptive.Feedback{Verdict: adaptive.OK})
		_, _ = other.End(adaptive.Feedback{Verdict: adaptive.OK})
		assert.False(t, other.ApplyMeters(meters), "it is over")

		deaf := made(t, guard.Policy{Law: adaptive.AIMD{}}).Begin(throttle.Cost{})
		_, err = deaf.Admit(t.Context())
		require.NoError(t, err)
		assert.False(t, deaf.ApplyMeters(meters), "the law does not listen")
		_, _ = deaf.End(adaptive.Feedback{Verdict: adaptive.OK})
	})
}

// The context of an earlier attempt does not reach the next one.
func TestEachAttemptHasItsOwnContext(t *testing.T) {
	l := made(t, capped(1))
	c := l.Begin(throttle.Cost{})
	first, err := c.Admit(t.Context())
	require.NoError(t, err)
	again, _ := c.End(adaptive.Feedback{Verdict: adaptive.Overloaded})
	require.True(t, again)
	second, err := c.Admit(t.Context())
	require.NoError(t, err)
	assert.NotSame(t, first, second)
	assert.False(t, abandon(first))
	assert.Equal(t, 1, l.Stats().InFlight)
	assert.True(t, abandon(second))
}

// A second Admit without End is a mistake that costs no slot.
func TestAdmitTwice(t *testing.T) {
	l := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 2}})
	call := l.Begin(throttle.Cost{})
	_, err := call.Admit(t.Context())
	require.NoError(t, err)
	_, err = call.Admit(t.Context())
	require.ErrorContains(t, err, "call End first")
	assert.Equal(t, 1, l.Stats().InFlight)
	_, err = call.End(adaptive.Feedback{Verdict: adaptive.OK})
	require.NoError(t, err)
	assert.Zero(t, l.Stats().InFlight)
}
