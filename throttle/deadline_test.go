package throttle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

func TestADeadlineBeforeTheEarliestAdmissionFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(1, time.Minute), throttle.Bucket(1, 10).Of(throttle.Points)), throttle.WithName("x"))
		sleep(time.Hour) // what is left is counted from now, not from when the limiter was made
		require.True(t, l.Allow(throttle.Cost{}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute-1)
		defer cancel()
		begin := time.Now()
		_, err := l.Acquire(ctx, throttle.Cost{})
		assert.Equal(t, &throttle.DeadlineError{Limiter: "x", Wait: time.Minute, Left: time.Minute - 1}, err)
		assert.Equal(t, begin, time.Now())
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorIs(t, err, throttle.ErrLimited)
		assert.NotErrorIs(t, err, throttle.ErrCost)
		assert.EqualError(t, err, `throttle: limiter "x": the earliest admission is in 1m0s, but the context ends in 59.999999999s`)
		assert.Equal(t, throttle.Stats{Admitted: 1, Refused: 1, Bound: l.Stats().Bound}, l.Stats())

		waiting := spawn(l, throttle.Cost{}, 0)
		_, err = l.Acquire(ctx, throttle.Cost{})
		assert.ErrorAs(t, err, new(*throttle.DeadlineError), "nor can one who is not the head")
		assert.False(t, waiting.finished())

		enough, cancel := context.WithTimeout(t.Context(), 2*time.Minute+1)
		defer cancel()
		require.NoError(t, l.Wait(enough, throttle.Cost{Points: 10}), "one minute behind the head")
		require.True(t, waiting.finished())
	})
}

// Only a deadline before the admission is too early, and only what the call
// itself takes counts: not the debt of a window that it does not use.
func TestADeadlineThatMayBeMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(1, time.Second), throttle.Sliding(10, time.Hour).Of(throttle.Tokens)))
		p, err := l.TryAcquire(tokens(10))
		require.NoError(t, err)
		p.Settle(tokens(20))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second+1)
		defer cancel()
		require.NoError(t, l.Wait(ctx, throttle.Cost{}))

		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err = l.Wait(ctx, throttle.Cost{})
		assert.NotErrorAs(t, err, new(*throttle.DeadlineError), "the two come at one instant: whichever is seen first")
		assert.Equal(t, time.Second, time.Since(begin))
	})
}

// A pause counts; a slot or a law may come free at any moment.
func TestWhatADeadlineIsMeasuredAgainst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return ctx
		}
		l := newLimiter(t, throttle.Limits{Concurrency: 1})
		l.PauseUntil(time.Now().Add(2 * time.Second))
		_, err := l.Acquire(soon(), throttle.Cost{})
		assert.ErrorAs(t, err, new(*throttle.DeadlineError))
		l.Resume()
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		begin := time.Now()
		_, err = l.Acquire(soon(), throttle.Cost{})
		assert.Equal(t, context.DeadlineExceeded, err)
		assert.Equal(t, time.Second, time.Since(begin))
		p.Release()

		g := &law{}
		g.always(time.Hour)
		l = newLimiter(t, throttle.Limits{}, governed(g))
		_, err = l.Acquire(soon(), throttle.Cost{})
		assert.Equal(t, context.DeadlineExceeded, err, "a law may change its mind")
	})
}

// Tokens that were reserved may be given back before they leave the window.
func TestADeadlineIsNotMeasuredAgainstWhatCallsInFlightHaveReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, windows(throttle.Sliding(1000, time.Minute).Of(throttle.Tokens)))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		p, err := l.Acquire(ctx, tokens(900))
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { p.Settle(tokens(100)) })
		begin := time.Now()
		q, err := l.Acquire(ctx, tokens(900))
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(begin))
		q.Release()
		_, err = l.Acquire(ctx, tokens(900))
		assert.ErrorAs(t, err, new(*throttle.DeadlineError), "nobody can give anything back")
	})
}

// A context ends in real time: that says nothing about an injected clock.
func TestUnderAnInjectedClockADeadlineIsWaitedFor(t *testing.T) {
	fake := clockwork.NewFakeClock()
	l := newLimiter(t, windows(throttle.Sliding(1, time.Hour)), throttle.WithClock(fake))
	require.True(t, l.Allow(throttle.Cost{}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() { done <- l.Wait(ctx, throttle.Cost{}) }()
	require.NoError(t, fake.BlockUntilContext(t.Context(), 1))
	fake.Advance(time.Hour)
	require.NoError(t, <-done)
}
