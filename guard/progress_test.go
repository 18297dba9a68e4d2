package guard_test

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// travelled is p as another process reads it.
func travelled(t *testing.T, p guard.Progress) (q guard.Progress) {
	t.Helper()
	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &q))
	return q
}

// attempt makes one attempt with a guard of its own, as a process of its own would.
func attemptAt(t *testing.T, policy guard.Policy, p guard.Progress, f func(context.Context) error) (guard.Progress, bool, error) {
	t.Helper()
	g := made(t, policy)
	next, again, err := g.Attempt(t.Context(), throttle.Cost{}, p, f)
	assert.Zero(t, g.Stats().InFlight, "nothing is held between attempts")
	return travelled(t, next), again, err
}

func returning(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// The retry policy counts across processes, and its delays grow.
func TestAttemptsAreCountedAcrossProcesses(t *testing.T) {
	policy := guard.Policy{Retry: &retry.Policy{MaxAttempts: 3, Initial: time.Second, Multiplier: 4, Jitter: 0.001, Max: time.Hour}}
	one, again, err := attemptAt(t, policy, guard.Progress{}, returning(io.EOF))
	require.Equal(t, io.EOF, err)
	require.True(t, again)
	assert.Equal(t, 1, one.Attempts)
	assert.InDelta(t, time.Second, one.Delay, float64(10*time.Millisecond))
	two, again, err := attemptAt(t, policy, one, returning(io.EOF))
	require.Equal(t, io.EOF, err)
	require.True(t, again)
	assert.Equal(t, 2, two.Attempts)
	assert.InDelta(t, 4*time.Second, two.Delay, float64(40*time.Millisecond))
	three, again, err := attemptAt(t, policy, two, returning(io.EOF))
	require.Equal(t, io.EOF, err)
	assert.False(t, again)
	assert.Equal(t, 3, three.Attempts)
}

// An engine gives up an attempt at some time, and repeats it: before that it has to end as a failure.
func TestAnAttemptHasATimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: time.Hour, 3 * time.Hour: 3 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			policy := guard.Policy{Timeout: timeout, Retry: &retry.Policy{MaxAttempts: 2}}
			next, again, err := attemptAt(t, policy, guard.Progress{}, func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
			assert.Equal(t, want, time.Since(began))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, "took longer than its timeout of "+want.String())
			assert.True(t, again, "the policy repeats it")
			assert.Equal(t, 1, next.Attempts)
		})
	}
}

// Progress comes from outside: a count that no call can have reached does not take forever.
func TestAnAttemptCountsNoNonsense(t *testing.T) {
	asked := 0
	policy := guard.Policy{Retry: &retry.Policy{MaxAttempts: math.MaxInt, Retryable: func(error) bool {
		if asked++; asked > 1<<21 {
			t.Fatal("it counts for ever")
		}
		return true
	}}}
	next, again, err := attemptAt(t, policy, guard.Progress{Failures: math.MaxInt}, returning(io.EOF))
	require.Equal(t, io.EOF, err)
	assert.True(t, again)
	assert.LessOrEqual(t, next.Delay, time.Minute)
}

// MaxWait bounds the waits before all attempts, wherever they are made.
func TestMaxWaitCountsTheDelaysAcrossProcesses(t *testing.T) {
	policy := guard.Policy{MaxWait: 2500 * time.Millisecond, Retry: &retry.Policy{MaxAttempts: 9, Initial: time.Second, Multiplier: 1, NoJitter: true}}
	var p guard.Progress
	for n := range 2 {
		next, again, err := attemptAt(t, policy, p, returning(io.EOF))
		require.Equal(t, io.EOF, err)
		require.True(t, again)
		assert.Equal(t, time.Duration(n+1)*time.Second, next.Waited.Truncate(time.Second))
		p = next
	}
	_, again, err := attemptAt(t, policy, p, returning(io.EOF))
	assert.False(t, again)
	require.Equal(t, io.EOF, err)
}

// A rejected call is no attempt, holds nothing while it waits, and gives up after MaxWait.
func TestARejectionIsNoAttemptAcrossProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := capped(2)
		policy.MaxWait = time.Minute
		policy.Retry = &retry.Policy{MaxAttempts: 2}
		hit := returning(&adaptive.RateLimitHit{RetryAfter: 7 * time.Second})
		p, rounds := guard.Progress{}, 0
		for {
			next, again, err := attemptAt(t, policy, p, hit)
			if !again {
				require.ErrorAs(t, err, new(*adaptive.RateLimitHit))
				break
			}
			require.ErrorAs(t, err, new(*adaptive.RateLimitHit))
			assert.Equal(t, 1, next.Attempts)
			assert.Zero(t, next.Failures)
			assert.GreaterOrEqual(t, next.Delay, 7*time.Second)
			time.Sleep(next.Delay)
			p = next
			rounds++
		}
		assert.Equal(t, 9, rounds, "until a minute is over")
		next, again, err := attemptAt(t, policy, p, returning(io.EOF))
		assert.False(t, again, "the minute is over: it is not sent")
		assert.ErrorAs(t, err, new(*adaptive.RateLimitHit))
		assert.Equal(t, 1, next.Attempts)
	})
}

func TestAnAttemptThatSucceedsAfterARejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, again, _ := attemptAt(t, capped(1), guard.Progress{}, returning(&adaptive.RateLimitHit{}))
		require.True(t, again)
		next, again, err := attemptAt(t, capped(1), p, nothing)
		require.NoError(t, err)
		assert.False(t, again)
		assert.Equal(t, 1, next.Attempts)
	})
}

// An open breaker is waited out elsewhere, and uses up the policy.
func TestAnOpenBreakerIsAFailureOfTheAttempt(t *testing.T) {
	g := made(t, guard.Policy{
		Breaker: &breaker.Config{Failures: 1, Open: time.Minute}, Retry: &retry.Policy{MaxAttempts: 3, Initial: time.Millisecond},
	})
	p, again, _ := g.Attempt(t.Context(), throttle.Cost{}, guard.Progress{}, returning(statusError(500)))
	require.True(t, again)
	p, again, err := g.Attempt(t.Context(), throttle.Cost{}, p, nothing)
	require.ErrorAs(t, err, new(*breaker.OpenError))
	require.True(t, again)
	assert.Equal(t, 2, p.Failures)
	assert.Greater(t, p.Delay, time.Minute/2)
	_, again, err = g.Attempt(t.Context(), throttle.Cost{}, p, nothing)
	require.ErrorAs(t, err, new(*breaker.OpenError))
	assert.False(t, again)
}

func TestAnAttemptEndsAsDoDoes(t *testing.T) {
	_, again, err := attemptAt(t, guard.Policy{Retry: &retry.Policy{}}, guard.Progress{}, func(context.Context) error { panic("fn") })
	assert.False(t, again)
	require.ErrorAs(t, err, new(*fault.PanicError))
	var none *guard.Guard
	_, again, err = none.Attempt(t.Context(), throttle.Cost{}, guard.Progress{}, nothing)
	assert.False(t, again)
	assert.ErrorContains(t, err, "the guard is nil")
	_, again, err = attemptAt(t, guard.Policy{}, guard.Progress{Attempts: -5, Failures: -1, Waited: -time.Hour, Since: time.Now().Add(time.Hour)}, nothing)
	assert.False(t, again)
	assert.NoError(t, err, "nonsense is bounded")
}

// A slot is not waited in for long, and MaxWait counts that waiting.
func TestAnAttemptLeavesACrowdedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := capped(1)
		policy.MaxWait = 40 * time.Second
		g := made(t, policy)
		held := g.Begin(throttle.Cost{})
		_, err := held.Admit(t.Context())
		require.NoError(t, err)
		p, rounds := guard.Progress{}, 0
		for again := true; again; rounds++ {
			began := time.Now()
			p, again, err = g.Attempt(t.Context(), throttle.Cost{}, p, nothing)
			if again {
				assert.Equal(t, 15*time.Second, time.Since(began))
				assert.Equal(t, time.Second, p.Delay)
				assert.Zero(t, p.Attempts)
			}
			p = travelled(t, p)
		}
		assert.Equal(t, 3, rounds)
		assert.ErrorAs(t, err, new(*throttle.LimitedError))
		_, _ = held.End(adaptive.Feedback{Verdict: adaptive.OK})
	})
}

// What runs is not ended by the bound on its admission.
func TestALongAttemptIsNotCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := made(t, capped(1))
		_, again, err := made(t, capped(1)).Attempt(t.Context(), throttle.Cost{}, guard.Progress{}, func(ctx context.Context) error {
			time.Sleep(time.Minute)
			return do(ctx, inner, nothing)
		})
		require.NoError(t, err)
		assert.False(t, again)
	})
}
