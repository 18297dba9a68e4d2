package throttle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// What limiters are known to get wrong, each by its name.

// A call that waits for a window must not sit on a slot that another could
// use: with a semaphore in front of a rate limiter it does.
func TestHoldingTheSlotWhileWaitingForTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 2, Windows: []throttle.Window{throttle.Sliding(10, time.Minute).Of(throttle.Tokens)}})
		require.True(t, l.Allow(throttle.Cost{Tokens: 10}))
		waiting := []*call{spawn(l, tokens(5), 0), spawn(l, tokens(5), 0)}
		assert.Zero(t, l.Stats().InFlight, "nobody holds anything")
		again := spawn(l, throttle.Cost{}, 1) // needs a slot only
		assert.True(t, again.finished())
		again.permit.Release()
		sleep(time.Minute)
		assert.Equal(t, 2, l.Stats().InFlight, "slot and window at one instant")
		for _, c := range waiting {
			assert.Equal(t, time.Minute, c.after)
			assert.Equal(t, c.sent.At, waiting[0].sent.At)
		}
	})
}

// The other way round, a call that waits for a slot must not have used up its
// share of a window: that share is for the time when it is sent.
func TestTakingTheWindowWhileWaitingForTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(2, time.Minute)}})
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		c := spawn(l, throttle.Cost{}, 0)
		sleep(59 * time.Second)
		p.Release()
		synctest.Wait()
		require.True(t, c.finished())
		c.permit.Release()
		sleep(time.Second)
		assert.True(t, l.Allow(throttle.Cost{}), "the first has left the window")
		assert.False(t, l.Allow(throttle.Cost{}), "the second counts from when it went, not from when it came")
	})
}

// A limiter that is replaced to change its rate lets a second helping go.
func TestReplacingTheLimiterWipesTheHistory(t *testing.T) {
	for name, tc := range map[string]struct{ fast, slow throttle.Window }{
		"sliding": {throttle.Sliding(1000, time.Second), throttle.Sliding(10, time.Second)},
		"bucket":  {throttle.Bucket(1000, 1000), throttle.Bucket(10, 10)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, windows(tc.fast))
				require.True(t, l.Allow(throttle.Cost{Requests: 995}))
				require.NoError(t, l.SetLimits(windows(tc.slow)))
				for range 5 { // what the bucket had left
					if name == "bucket" {
						require.True(t, l.Allow(throttle.Cost{}))
					}
				}
				assert.False(t, l.Allow(throttle.Cost{}), "lowered: 0 more than the history allows")
				require.NoError(t, l.SetLimits(windows(tc.fast)))
				assert.Equal(t, name == "sliding", l.Allow(throttle.Cost{Requests: 5}), "raised again: just what was left")
				assert.False(t, l.Allow(throttle.Cost{}))
				l.Reset()
				assert.False(t, l.Allow(throttle.Cost{}), "Reset is about statistics")
			})
		})
	}
}

// Waiters that reserve future slots leave holes behind when they give up.
func TestDelayAfterCancelledWaiters(t *testing.T) {
	for name, w := range map[string]throttle.Window{
		"sliding": throttle.Sliding(1, 100*time.Millisecond),
		"bucket":  throttle.Bucket(10, 1),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, windows(w))
				require.True(t, l.Allow(throttle.Cost{}))
				dead := spawnN(l, 20)
				live := spawn(l, throttle.Cost{}, 0)
				sleep(50 * time.Millisecond)
				for _, c := range dead {
					c.cancel(assert.AnError)
				}
				sleep(50 * time.Millisecond)
				for _, c := range dead {
					assert.Equal(t, assert.AnError, c.err)
				}
				require.True(t, live.finished())
				assert.Equal(t, 100*time.Millisecond, live.after, "at the ideal time, not after 20 dead ones")
				assert.Equal(t, int64(20), l.Stats().Abandoned)
			})
		})
	}
}

// A fixed window admits its maximum just before an edge and again just after.
func TestTwiceTheMaximumAtAWindowsEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10
		l := newLimiter(t, windows(throttle.Sliding(n, time.Second)))
		sleep(time.Second - 1) // wherever the edges might lie
		for range n {
			require.True(t, l.Allow(throttle.Cost{}))
		}
		for range 999 {
			sleep(time.Millisecond)
			require.False(t, l.Allow(throttle.Cost{}))
		}
		sleep(time.Millisecond)
		for range n {
			require.True(t, l.Allow(throttle.Cost{}))
		}
		assert.False(t, l.Allow(throttle.Cost{}))
	})
}

// A refund that reaches a bucket after it was full again would let more go
// than the bucket ever holds.
func TestRefundAboveTheBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Bucket(1, 10)))
		old, err := l.TryAcquire(throttle.Cost{Requests: 10})
		require.NoError(t, err)
		sleep(10 * time.Second)
		require.True(t, l.Allow(throttle.Cost{Requests: 10}))
		old.Cancel()
		assert.False(t, l.Allow(throttle.Cost{}))
	})
}
