package throttle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

func TestZeroLimitsAllowEverything(t *testing.T) {
	l := newLimiter(t, throttle.Limits{}, throttle.WithName("all"), throttle.WithClock(nil), throttle.WithGovernor(nil))
	assert.Equal(t, "all", l.Name())
	for range 2000 {
		require.True(t, l.Allow(throttle.Cost{Tokens: throttle.MaxAmount}))
		_, err := l.Acquire(t.Context(), throttle.Cost{})
		require.NoError(t, err)
	}
}

// The slot and all the windows are taken at one instant, or none of them.
func TestAllAtOnceOrNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{
			throttle.Sliding(3, time.Minute), throttle.Sliding(10, time.Second).Of(throttle.Tokens), throttle.Bucket(1, 5).Of(throttle.Points),
		}})
		p, err := l.TryAcquire(throttle.Cost{Tokens: 10})
		require.NoError(t, err)
		c := spawn(l, throttle.Cost{Tokens: 10, Points: 5}, 0)
		sleep(3 * time.Second)
		require.False(t, c.finished(), "there is no slot")
		c.cancel(nil)
		synctest.Wait()
		p.Release()
		assert.True(t, l.Allow(throttle.Cost{Requests: 2, Tokens: 10, Points: 5}), "nothing was taken meanwhile, of no window")

		// No window is taken while one of them has no room.
		for range 5 {
			require.False(t, l.Allow(throttle.Cost{Points: 1}), "no requests left")
		}
		require.NoError(t, l.SetLimits(windows(throttle.Sliding(4, time.Minute), throttle.Bucket(1, 5).Of(throttle.Points))))
		sleep(5 * time.Second)
		assert.True(t, l.Allow(throttle.Cost{Points: 5}), "the refused took no points")
	})
}

func TestTryAcquireSaysHowLong(t *testing.T) {
	fake := clockwork.NewFakeClock()
	l := newLimiter(t, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{
		throttle.Sliding(1, time.Minute), throttle.Sliding(10, 2*time.Minute).Of(throttle.Tokens),
	}}, throttle.WithClock(fake), throttle.WithName("x"))
	p, err := l.TryAcquire(throttle.Cost{Tokens: 10})
	require.NoError(t, err)
	for _, tc := range []struct {
		cost  throttle.Cost
		want  time.Duration
		bound throttle.Window
	}{
		{throttle.Cost{}, time.Minute, throttle.Sliding(1, time.Minute)},
		{throttle.Cost{Tokens: 1}, 2 * time.Minute, throttle.Sliding(10, 2*time.Minute).Of(throttle.Tokens)},
	} {
		q, err := l.TryAcquire(tc.cost)
		assert.Equal(t, throttle.Permit{}, q)
		assert.Equal(t, &throttle.LimitedError{
			Limiter: "x", RetryAfter: tc.want,
			Bound: throttle.Bound{Kind: throttle.BoundByWindow, Window: tc.bound, Wait: tc.want},
		}, err, "the longest of the waits")
	}
	fake.Advance(2 * time.Minute)
	_, err = l.TryAcquire(throttle.Cost{})
	assert.Equal(t, &throttle.LimitedError{
		Limiter: "x", RetryAfter: time.Second,
		Bound: throttle.Bound{Kind: throttle.BoundByConcurrency, Wait: throttle.Forever},
	}, err, "only a call that ends helps")
	p.Release()
	_, err = l.TryAcquire(throttle.Cost{Tokens: 11})
	assert.ErrorIs(t, err, throttle.ErrCost)
	assert.Equal(t, int64(3), l.Stats().Refused, "what can never be is no refusal")
}

// An injected clock that steps back does not turn time back.
func TestClockThatStepsBack(t *testing.T) {
	c := &steppingClock{FakeClock: clockwork.NewFakeClock()}
	l := newLimiter(t, windows(throttle.Sliding(1, time.Minute)), throttle.WithClock(c))
	c.Advance(time.Hour)
	require.True(t, l.Allow(throttle.Cost{}))
	c.back = 30 * time.Minute
	_, err := l.TryAcquire(throttle.Cost{})
	var limited *throttle.LimitedError
	require.ErrorAs(t, err, &limited)
	assert.Equal(t, time.Minute, limited.RetryAfter)
	c.back = 0
	c.Advance(time.Minute)
	assert.True(t, l.Allow(throttle.Cost{}))
}

type steppingClock struct {
	*clockwork.FakeClock
	back time.Duration
}

func (c *steppingClock) Since(t time.Time) time.Duration { return c.FakeClock.Since(t) - c.back }

func TestFakeClockWakesTheQueue(t *testing.T) {
	fake := clockwork.NewFakeClock()
	l := newLimiter(t, windows(throttle.Sliding(1, time.Minute)), throttle.WithClock(fake))
	require.True(t, l.Allow(throttle.Cost{}))
	done := make(chan error)
	go func() { done <- l.Wait(t.Context(), throttle.Cost{}) }()
	require.NoError(t, fake.BlockUntilContext(t.Context(), 1))
	fake.Advance(time.Minute)
	require.NoError(t, <-done)
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(10, time.Hour)}})
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		assert.False(t, l.Allow(throttle.Cost{}))
		a, b := spawn(l, throttle.Cost{}, 0), spawn(l, throttle.Cost{}, 0)
		c := spawn(l, throttle.Cost{}, 0)
		sleep(2 * time.Second)
		c.cancel(nil)
		p.Release()
		sleep(3 * time.Second)
		assert.Equal(t, throttle.Stats{
			InFlight: 1, Waiting: 1, Admitted: 2, Refused: 1, Abandoned: 1,
			Waits: 1, Waited: 2 * time.Second, LongestWait: 2 * time.Second,
			Bound: throttle.Bound{Kind: throttle.BoundByConcurrency, Wait: throttle.Forever},
		}, l.Stats())
		a.permit.Release()
		synctest.Wait()
		b.permit.Release()
		assert.Equal(t, throttle.Stats{
			Admitted: 3, Refused: 1, Abandoned: 1, Waits: 2, Waited: 7 * time.Second, LongestWait: 5 * time.Second,
		}, l.Stats())
		l.Reset()
		assert.Equal(t, throttle.Stats{}, l.Stats())
		assert.True(t, l.Allow(throttle.Cost{Requests: 7}))
		assert.False(t, l.Allow(throttle.Cost{}), "the history of the windows survives")
	})
}

func TestTheLongestWaitIsNotTheLastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 1})
		for _, wait := range []time.Duration{2 * time.Second, 5 * time.Second, time.Second} {
			p, err := l.TryAcquire(throttle.Cost{})
			require.NoError(t, err)
			next := spawn(l, throttle.Cost{}, 0)
			sleep(wait)
			p.Release()
			synctest.Wait()
			next.permit.Release()
		}
		assert.Equal(t, 5*time.Second, l.Stats().LongestWait)
	})
}
