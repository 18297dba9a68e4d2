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

func TestZeroPermitIsNobodys(t *testing.T) {
	var p throttle.Permit
	p.Release()
	p.Settle(throttle.Cost{Tokens: 1})
	p.Cancel()
	f := func(time.Time, throttle.Sent) { assert.Fail(t, "nothing ended") }
	assert.False(t, p.End(throttle.Cost{}, f))
	assert.False(t, p.CancelThen(f))
	_, ok := p.Sent()
	assert.False(t, ok)
}

func TestPermitEndsOnce(t *testing.T) {
	f := func(time.Time, throttle.Sent) { assert.Fail(t, "ended twice") }
	again := map[string]func(throttle.Permit){
		"Release":    throttle.Permit.Release,
		"Settle":     func(p throttle.Permit) { p.Settle(throttle.Cost{Tokens: 50}) },
		"Cancel":     throttle.Permit.Cancel,
		"End":        func(p throttle.Permit) { assert.False(t, p.End(throttle.Cost{Tokens: 50}, f)) },
		"CancelThen": func(p throttle.Permit) { assert.False(t, p.CancelThen(f)) },
	}
	for name, second := range again {
		t.Run(name, func(t *testing.T) {
			l := newLimiter(t, throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(100, time.Hour).Of(throttle.Tokens)}})
			p, err := l.TryAcquire(throttle.Cost{Tokens: 60})
			require.NoError(t, err)
			other := p
			p.Release()
			second(p)
			second(other)
			q, err := l.TryAcquire(throttle.Cost{Tokens: 40})
			require.NoError(t, err, "nothing was given back, nothing taken")
			second(p) // its record is q's now
			second(other)
			s, ok := q.Sent()
			assert.True(t, ok)
			assert.Equal(t, int64(2), s.Seq)
			assert.Equal(t, 1, l.Stats().InFlight)
			_, err = l.TryAcquire(throttle.Cost{})
			assert.ErrorIs(t, err, throttle.ErrLimited, "q still holds the slot")
			q.Release()
			assert.Zero(t, l.Stats().InFlight)
		})
	}
}

func TestSettle(t *testing.T) {
	const tokens = 100
	for _, tc := range []struct {
		name   string
		actual throttle.Cost
		left   int64 // of 100 at once
		wait   time.Duration
	}{
		{"as reserved", throttle.Cost{Tokens: 60}, 40, 0},
		{"less", throttle.Cost{Tokens: 10}, 90, 0},
		{"nothing", throttle.Cost{}, 100, 0},
		{"more", throttle.Cost{Tokens: 90}, 10, 0},
		{"far more: a debt", throttle.Cost{Tokens: 1000}, 0, 30 * time.Second},
		{"input and output add up", throttle.Cost{Input: 20, Output: 5}, 75, 0},
		{"nonsense is clamped to nothing", throttle.Cost{Tokens: -5}, 100, 0},
		{"nonsense is clamped to the most", throttle.Cost{Tokens: 1 << 62}, 0, 30 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fake := clockwork.NewFakeClock()
			l := newLimiter(t, windows(throttle.Sliding(tokens, time.Minute).Of(throttle.Tokens)), throttle.WithClock(fake))
			p, err := l.TryAcquire(throttle.Cost{Tokens: 60})
			require.NoError(t, err)
			fake.Advance(30 * time.Second)
			p.Settle(tc.actual)
			if tc.left < tokens {
				assert.False(t, l.Allow(throttle.Cost{Tokens: tc.left + 1}))
			}
			if tc.left > 0 {
				assert.True(t, l.Allow(throttle.Cost{Tokens: tc.left}))
			}
			fake.Advance(30*time.Second + tc.wait)
			if tc.wait > 0 {
				assert.True(t, l.Allow(throttle.Cost{Tokens: tokens}), "the debt was taken when it was settled")
			}
		})
	}
}

// Nonsense in a response must not touch what others have taken.
func TestSettleClamps(t *testing.T) {
	for name, w := range map[string]throttle.Window{
		"sliding": throttle.Sliding(100, time.Minute).Of(throttle.Tokens),
		"bucket":  throttle.Bucket(1, 100).Of(throttle.Tokens),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLimiter(t, windows(w), throttle.WithClock(clockwork.NewFakeClock()))
			p, err := l.TryAcquire(throttle.Cost{Tokens: 30})
			require.NoError(t, err)
			require.True(t, l.Allow(throttle.Cost{Tokens: 70}))
			p.Settle(throttle.Cost{Tokens: -1000})
			assert.False(t, l.Allow(throttle.Cost{Tokens: 31}))
			for range 5 {
				p, err = l.TryAcquire(throttle.Cost{})
				require.NoError(t, err)
				p.Settle(throttle.Cost{Tokens: 1 << 62})
				assert.False(t, l.Allow(throttle.Cost{Tokens: 1}), "no sum overflows")
			}
		})
	}
}

func TestSettleAndCancelWakeWaiters(t *testing.T) {
	for name, end := range map[string]func(throttle.Permit){
		"Settle":     func(p throttle.Permit) { p.Settle(throttle.Cost{Tokens: 3}) },
		"Cancel":     throttle.Permit.Cancel,
		"CancelThen": func(p throttle.Permit) { p.CancelThen(nil) },
		"End":        func(p throttle.Permit) { p.End(throttle.Cost{Tokens: 3}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, windows(throttle.Sliding(10, time.Hour).Of(throttle.Tokens)))
				p, err := l.TryAcquire(throttle.Cost{Tokens: 10})
				require.NoError(t, err)
				c := spawn(l, throttle.Cost{Tokens: 7}, 0)
				sleep(time.Second)
				require.False(t, c.finished())
				end(p)
				synctest.Wait()
				assert.True(t, c.finished())
				c.permit.Release()
			})
		})
	}
}

// Cancel gives the request back too; Settle does not: the call was made.
func TestCancelGivesTheRequestBack(t *testing.T) {
	l := newLimiter(t, windows(throttle.Sliding(1, time.Hour)))
	p, err := l.TryAcquire(throttle.Cost{})
	require.NoError(t, err)
	p.Cancel()
	p, err = l.TryAcquire(throttle.Cost{})
	require.NoError(t, err)
	p.Settle(throttle.Cost{})
	_, err = l.TryAcquire(throttle.Cost{})
	require.ErrorIs(t, err, throttle.ErrLimited)
}

// f is called after the slot is free, and before another call is admitted.
func TestEndTellsBeforeAnybodyGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, throttle.Limits{Concurrency: 2})
		p, err := l.TryAcquire(throttle.Cost{Tokens: 7})
		require.NoError(t, err)
		_, err = l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		want, _ := p.Sent()
		waiter := spawn(l, throttle.Cost{}, 0)
		sleep(time.Second)
		heard := false
		assert.True(t, p.End(throttle.Cost{}, func(now time.Time, s throttle.Sent) {
			heard = true
			assert.Equal(t, want, s)
			assert.Equal(t, time.Now(), now)
			assert.Equal(t, 1, l.InFlightLocked(), "the slot is free, and nobody has it yet")
			l.CloseLocked(time.Time{}, assert.AnError)
		}))
		synctest.Wait()
		assert.True(t, heard)
		assert.Equal(t, assert.AnError, waiter.err, "closed before anybody went")
		assert.Equal(t, 1, l.Stats().InFlight)
	})
}

func TestEndReportsWhetherItDid(t *testing.T) {
	l := newLimiter(t, throttle.Limits{Concurrency: 2})
	first, err := l.TryAcquire(throttle.Cost{})
	require.NoError(t, err)
	second, err := l.TryAcquire(throttle.Cost{})
	require.NoError(t, err)
	assert.True(t, second.End(throttle.Cost{}, nil))
	assert.False(t, second.End(throttle.Cost{}, nil))
	assert.False(t, second.CancelThen(nil))
	_, ok := first.Sent()
	assert.True(t, ok, "it was the other that ended")
	assert.True(t, first.CancelThen(nil))
	assert.Zero(t, l.Stats().InFlight)
}
