package guard_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func TestMaxWaitEndsWithTheHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := capped(5)
		c.MaxWait = 8 * time.Second
		calls, began := 0, time.Now()
		err := do(t.Context(), made(t, c), func(context.Context) error {
			calls++
			time.Sleep(time.Second)
			return &adaptive.RateLimitHit{RetryAfter: 5 * time.Second, Kind: adaptive.KindTokens, Source: "test"}
		})
		hit, isHit := err.(*adaptive.RateLimitHit) //nolint:errorlint // it is the hit itself
		require.True(t, isHit, "%v", err)
		assert.Equal(t, 8*time.Second, time.Since(began), "counted from when the call asked")
		assert.Equal(t, 2, calls)
		assert.Equal(t, "api", hit.Scope)
		assert.Equal(t, adaptive.KindTokens, hit.Kind)
		assert.Equal(t, 5*time.Second, hit.RetryAfter)
		assert.Equal(t, "test", hit.Source)
		assertJittered(t, 5*time.Second, hit.SentAt.Sub(began)-time.Second, "the call that was rejected last")
		assert.EqualError(t, err, `adaptive: rate limit hit on "api" (tokens), retry after 5s`, "without the error of the call once more")
	})
}

func TestMaxWaitCountsTheTimeInCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := capped(5)
		c.MaxWait = 5 * time.Second
		began := time.Now()
		err := do(t.Context(), made(t, c), func(context.Context) error {
			time.Sleep(10 * time.Second)
			return &adaptive.RateLimitHit{RetryAfter: time.Second}
		})
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, err, &hit)
		assert.Equal(t, 10*time.Second, time.Since(began), "it is not sent again")
	})
}

// Without MaxWait it is 15 minutes, from the first rejection.
func TestTheDefaultMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := do(t.Context(), made(t, guard.Policy{}), func(context.Context) error {
			time.Sleep(time.Minute)
			return &adaptive.RateLimitHit{RetryAfter: 8 * time.Minute}
		})
		require.ErrorAs(t, err, new(*adaptive.RateLimitHit))
		assert.Equal(t, 16*time.Minute, time.Since(began))
	})
}

// Also under a law that would admit it.
func TestAfterMaxWaitNoCallIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := do(t.Context(), made(t, guard.Policy{Law: unbounded{}, MaxWait: 5 * time.Second}), func(context.Context) error {
			calls++
			time.Sleep(10 * time.Second)
			return &adaptive.RateLimitHit{}
		})
		require.Error(t, err)
		assert.Equal(t, 1, calls)
	})
}

func TestAContextThatEndsDuringThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{})
		stop := errors.New("stopped by the user")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer time.AfterFunc(5*time.Second, func() { cancel(stop) }).Stop()
		began := time.Now()
		fn, calls := rejectedOnce(time.Minute)
		err := do(ctx, l, fn)
		var hit *adaptive.RateLimitHit
		assert.ErrorIs(t, err, stop)
		require.ErrorAs(t, err, &hit)
		assert.Equal(t, time.Minute, hit.RetryAfter)
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.Equal(t, int64(1), calls.Load())
		assert.Zero(t, l.Stats().Waiting)
	})
}

func TestAContextThatEndsDuringTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, takes := range []time.Duration{0, time.Hour} { // the second uses up MaxWait as well
			ctx, cancel := context.WithCancelCause(t.Context())
			calls := 0
			err := do(ctx, made(t, guard.Policy{Law: unbounded{}}), func(context.Context) error {
				if calls++; calls == 2 || takes == 0 {
					cancel(io.ErrUnexpectedEOF)
				}
				time.Sleep(takes)
				return statusError(429)
			})
			var hit *adaptive.RateLimitHit
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
			assert.ErrorIs(t, err, statusError(429))
			assert.ErrorAs(t, err, &hit)
		}
	})
}

// What bounds the waits of all attempts leaves out the time of those that were sent.
func TestMaxWaitLeavesOutTheTimeOfAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		l := made(t, guard.Policy{MaxWait: 5 * time.Second, Retry: &retry.Policy{Initial: time.Millisecond}})
		require.NoError(t, do(t.Context(), l, func(context.Context) error {
			if calls++; calls < 3 {
				time.Sleep(10 * time.Second)
				return context.DeadlineExceeded
			}
			return nil
		}))
		assert.Equal(t, 3, calls)
	})
}

// A call that cannot wait for another attempt says why the one before has failed.
func TestAWaitForAnotherAttemptThatEndsKeepsTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{
			MaxWait: 5 * time.Second, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Minute)}}, Retry: &retry.Policy{Initial: time.Second, NoJitter: true},
		})
		began := time.Now()
		err := do(t.Context(), l, func(context.Context) error { return io.ErrUnexpectedEOF })
		require.ErrorAs(t, err, new(*throttle.LimitedError))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.Equal(t, 5*time.Second, time.Since(began), "with the wait before the retry")
	})
}

// A call does not begin a wait for another attempt that MaxWait would end.
func TestAWaitForAnotherAttemptThatIsLongerThanMaxWait(t *testing.T) {
	patient := retry.Policy{MaxAttempts: 9, Initial: 2 * time.Second, Multiplier: 2, NoJitter: true}
	for name, c := range map[string]struct {
		policy     guard.Policy
		retryAfter time.Duration // of the failure
		calls      int
		ends       time.Duration
	}{
		"the first":          {guard.Policy{MaxWait: 2 * time.Second}, 0, 1, 0},
		"all of them":        {guard.Policy{MaxWait: 7 * time.Second}, 0, 3, 6 * time.Second},
		"one is as long":     {guard.Policy{MaxWait: 6 * time.Second}, 0, 2, 2 * time.Second},
		"as the server says": {guard.Policy{MaxWait: 20 * time.Second}, 30 * time.Second, 1, 0},
		"an open breaker":    {guard.Policy{MaxWait: 20 * time.Second, Breaker: &breaker.Config{Failures: 1, Open: time.Minute}}, 0, 1, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, began := 0, time.Now()
				c.policy.Retry = &patient
				err := do(t.Context(), made(t, c.policy), func(ctx context.Context) error {
					calls++
					guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Transient, RetryAfter: c.retryAfter})
					return io.ErrUnexpectedEOF
				})
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				require.NotErrorIs(t, err, throttle.ErrLimited, "it was sent")
				assert.Equal(t, c.calls, calls)
				assert.Equal(t, c.ends, time.Since(began))
			})
		})
	}
}

// A breaker around the guard counts a failure for which MaxWait leaves no retry.
func TestAFailureThatIsNotRetriedBecauseOfMaxWaitIsOneForABreaker(t *testing.T) {
	g := made(t, guard.Policy{MaxWait: time.Second, Retry: &retry.Policy{Initial: 2 * time.Second, NoJitter: true}})
	b, err := breaker.New(breaker.Config{Failures: 1})
	require.NoError(t, err)
	err = b.Do(t.Context(), func(ctx context.Context) error {
		return do(ctx, g, func(context.Context) error { return io.ErrUnexpectedEOF })
	})
	require.Equal(t, io.ErrUnexpectedEOF, err)
	assert.Equal(t, breaker.Open, b.Stats().State)
}

// The error of a call that waited for MaxWait counts the calls queued after it in its
// RetryAfter.
func TestMaxWaitEndsWithAWaitThatCountsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := guard.Policy{Name: "service", MaxWait: 5 * time.Second, Limits: rate(throttle.Sliding(1, time.Minute))}
		alone, outer := made(t, service), made(t, service)
		for name, of := range map[string]struct {
			waits, asks *guard.Guard
			after       time.Duration
		}{
			"own":   {alone, alone, 3*time.Minute + 55*time.Second},
			"outer": {made(t, guard.Policy{Name: "key", Within: []*guard.Guard{outer}}), made(t, guard.Policy{Name: "other", Within: []*guard.Guard{outer}}), time.Minute + 55*time.Second}, // lines are served in turn
		} {
			require.NoError(t, do(t.Context(), of.asks, nothing))
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				time.Sleep(time.Second)
				for range 3 {
					patient := made(t, guard.Policy{MaxWait: time.Hour, Within: []*guard.Guard{of.waits}})
					wg.Go(func() { assert.Error(t, do(ctx, patient, nothing)) })
				}
			})
			var limited *throttle.LimitedError
			require.ErrorAs(t, do(t.Context(), of.asks, nothing), &limited)
			assert.Equal(t, of.after, limited.RetryAfter, name)
			cancel()
			wg.Wait()
		}
	})
}
