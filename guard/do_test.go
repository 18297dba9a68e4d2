package guard_test

import (
	"context"
	"errors"
	"sync"
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

func TestZeroPolicyBoundsNothingBeforeARejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{})
		var wg sync.WaitGroup
		begin := time.Now()
		for range 1000 {
			wg.Go(func() {
				assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
					time.Sleep(time.Second)
					return nil
				}))
			})
		}
		wg.Wait()
		assert.Equal(t, time.Second, time.Since(begin))
	})
}

func TestARejectedCallIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{})
		begin, calls := time.Now(), 0
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
			if calls++; calls == 1 {
				return &adaptive.RateLimitHit{RetryAfter: 3 * time.Second}
			}
			return nil
		}))
		assert.Equal(t, 2, calls)
		assert.GreaterOrEqual(t, time.Since(begin), 3*time.Second)
		assert.EqualValues(t, 1, g.Stats().View.Hits)
	})
}

func TestRetryTimeoutBreakerPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{
			Retry: &retry.Policy{MaxAttempts: 3}, Timeout: time.Second, Breaker: &breaker.Config{},
			Limits: throttle.Limits{Concurrency: 1},
		})
		calls := 0
		v, err := guard.Get(t.Context(), g, throttle.Cost{}, func(context.Context) (int, error) {
			if calls++; calls < 3 {
				return 0, errors.New("connection reset")
			}
			return calls, nil
		})
		require.NoError(t, err)
		assert.Equal(t, 3, v)

		err = g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { panic("oh") })
		assert.ErrorAs(t, err, new(*fault.PanicError))

		block := make(chan struct{})
		err = g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { <-block; return nil })
		assert.ErrorAs(t, err, new(*fault.HungError))
		close(block)
		assert.Zero(t, g.Stats().InFlight)
		require.NoError(t, g.Try(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
	})
}

// The race detector sees a value that is returned while an abandoned function still writes it.
func TestGetOfAFunctionThatReturnsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Timeout: time.Second})
		v, err := guard.Get(t.Context(), g, throttle.Cost{}, func(context.Context) (string, error) {
			time.Sleep(time.Minute)
			return "late", nil
		})
		require.ErrorAs(t, err, new(*fault.HungError))
		assert.Empty(t, v)
		time.Sleep(time.Minute) // until it has returned
	})
}

func TestAUsedUpQuotaIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Name: "api"})
		paid := false
		calls := 0
		ask := func() error {
			return g.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
				if calls++; !paid {
					guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Terminal})
					return errors.New("insufficient_quota")
				}
				return nil
			})
		}
		require.ErrorIs(t, ask(), adaptive.ErrQuotaExhausted)
		require.ErrorIs(t, ask(), adaptive.ErrQuotaExhausted)
		assert.Equal(t, 1, calls, "the second one is unsent")
		time.Sleep(time.Minute)
		require.ErrorIs(t, ask(), adaptive.ErrQuotaExhausted)
		assert.Equal(t, 2, calls, "a probe")
		time.Sleep(time.Minute)
		require.ErrorIs(t, ask(), adaptive.ErrQuotaExhausted)
		assert.Equal(t, 2, calls, "the pause grows")
		paid = true
		time.Sleep(time.Minute)
		require.NoError(t, ask())
		require.NoError(t, ask())
	})
}

func TestNestedCallsUseOneSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := made(t, guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
		host := made(t, guard.Policy{Name: "host", Within: []*guard.Guard{g}, Limits: throttle.Limits{Concurrency: 1}})
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
			return host.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
				return g.Do(ctx, throttle.Cost{}, func(context.Context) error { return nil })
			})
		}))
		assert.Zero(t, g.Stats().InFlight)
		assert.Zero(t, host.Stats().InFlight)
	})
}

// Whether a guard within others learns itself is decided when it is made.
func TestSetOfAGuardWithinAnother(t *testing.T) {
	outer := made(t, guard.Policy{Name: "outer"})
	learns := made(t, guard.Policy{Within: []*guard.Guard{outer}, Law: adaptive.AIMD{}})
	require.NoError(t, learns.Set(guard.Policy{}))
	require.NoError(t, learns.Reset())
	assert.Same(t, learns, learns.Learner())
	limits := made(t, guard.Policy{Within: []*guard.Guard{outer}})
	require.NoError(t, limits.Set(guard.Policy{Limits: throttle.Limits{Concurrency: 2}}))
	assert.ErrorContains(t, limits.Set(guard.Policy{Law: adaptive.AIMD{}}), `leave learning to "outer"`)
}

// hostileError is an error whose methods panic.
type hostileError struct{}

func (hostileError) Error() string { panic("Error") }
func (hostileError) Is(error) bool { panic("Is") }
func (hostileError) As(any) bool   { panic("As") }
func (hostileError) Unwrap() error { panic("Unwrap") }

func TestDoReturnsAnErrorWhoseMethodsPanic(t *testing.T) {
	for name, p := range map[string]guard.Policy{
		"plain":   {},
		"retry":   {Retry: &retry.Policy{MaxAttempts: 2, Initial: 1, Max: 1}},
		"timeout": {Timeout: time.Minute},
		"breaker": {Breaker: &breaker.Config{}},
	} {
		err := do(t.Context(), made(t, p), func(context.Context) error { return hostileError{} })
		assert.True(t, err == hostileError{}, name) //nolint:errorlint // its methods panic
	}
}
