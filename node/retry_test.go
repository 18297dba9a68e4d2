package node_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// thrice is three attempts, one and two seconds apart.
var thrice = retry.Policy{MaxAttempts: 3, Initial: time.Second, NoJitter: true}

// A known failure of others: one counter for all parallel items, so that the
// failures of one item eat the attempts of another.
func TestRetriesAreCountedForEachItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := &state{}
		b := node.BatchFunc("b", feed(numbers(20)...), func(_ context.Context, i int) (int, error) {
			if n := calls.add(i); n < 3 {
				return 0, fmt.Errorf("attempt %d: %w", n, errBoom)
			}
			return i, nil
		}, keep).WithParallel(7).WithRetry(thrice)
		_, err := b.Run(t.Context(), s)
		require.NoError(t, err)
		for res := range s.report.All() {
			assert.Equal(t, node.Done, res.State)
			assert.Equal(t, 3, res.Attempts, "every item had all of its attempts")
		}
		assert.Equal(t, 60, calls.sum())
	})
}

// Neither the limiter nor the policy sends again what is final, but the others wait.
func TestAFinalRefusalIsNotTriedAgain(t *testing.T) {
	final := func(err error) adaptive.Feedback {
		if errors.Is(err, errBoom) {
			return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Minute, Final: true}
		}
		return adaptive.Feedback{}
	}
	for _, limits := range []int{0, 5} {
		synctest.Test(t, func(t *testing.T) {
			var calls tally
			m := node.Map("m", func(_ context.Context, i int) (int, error) {
				if calls.add(i); i == 0 {
					return 0, errBoom
				}
				return i, nil
			}).With(guard.Policy{Detector: final}).WithRetry(thrice)
			if limits > 0 {
				m = m.WithLimits(throttle.Limits{Concurrency: limits})
			}
			began := time.Now()
			got, err := m.All(t.Context(), numbers(2))
			require.ErrorIs(t, err, errBoom)
			require.NotErrorAs(t, err, new(*adaptive.RateLimitHit))
			assert.Equal(t, 2, calls.sum())
			assert.Equal(t, []int{0, 1}, got)
			assert.GreaterOrEqual(t, time.Since(began), time.Minute)
		})
	}
}

func TestWithoutRetryThereIsOneAttempt(t *testing.T) {
	var calls tally
	m := node.Map("m", func(_ context.Context, i int) (int, error) { calls.add(i); return 0, errBoom })
	_, err := m.All(t.Context(), numbers(3))
	require.ErrorIs(t, err, errBoom)
	assert.Equal(t, 3, calls.sum())
}

func TestRetryGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := &state{}
		b := node.BatchFunc("b", feed(7), func(_ context.Context, i int) (int, error) {
			return 0, &codeError{calls.add(i)}
		}, keep).WithRetry(thrice)
		began := time.Now()
		_, err := b.Run(t.Context(), s)
		require.NoError(t, err)
		assert.Equal(t, []node.Result[int, int]{
			{In: 7, Attempts: 3, State: node.Failed, Err: &codeError{3}},
		}, results(s.report), "with the error of the last attempt")
		assert.Equal(t, 3*time.Second, time.Since(began))
	})
}

func TestErrorsThatAreNotRetried(t *testing.T) {
	large := newGuard(t, guard.Policy{Name: "large", Limits: throttle.Limits{
		Windows: []throttle.Window{throttle.Sliding(10, time.Hour).Of(throttle.Tokens)},
	}})
	for name, tc := range map[string]struct {
		policy retry.Policy
		err    error
	}{
		"excepted":                  {retry.Policy{Except: []error{errBoom}}, fmt.Errorf("x: %w", errBoom)},
		"permanent":                 {retry.Policy{}, fmt.Errorf("x: %w", retry.Permanent(errBoom))},
		"cancelled by the callee":   {retry.Policy{}, context.Canceled},
		"not retryable":             {retry.Policy{Retryable: func(error) bool { return false }}, errBoom},
		"a single attempt":          {retry.Policy{MaxAttempts: 1}, errBoom},
		"a cost that can never fit": {retry.Policy{}, large.Try(t.Context(), throttle.Cost{Tokens: 11}, nil)},
		"a quota that is used up":   {retry.Policy{}, fmt.Errorf("inside: %w", adaptive.ErrQuotaExhausted)},
		"a panic further in":        {retry.Policy{}, fmt.Errorf("x: %w", &fault.PanicError{Value: "x"})},
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, tc.err)
			for _, limits := range []throttle.Limits{{}, concurrency(1)} {
				synctest.Test(t, func(t *testing.T) {
					calls := 0
					m := node.Map("m", func(context.Context, int) (int, error) { calls++; return 0, tc.err }).WithRetry(tc.policy)
					if limits.Concurrency > 0 {
						m.WithLimits(limits)
					}
					_, err := m.All(t.Context(), []int{1})
					require.ErrorIs(t, err, tc.err)
					assert.Equal(t, 1, calls)
				})
			}
		})
	}
}

// An item stops waiting for the provider only after it has waited long enough.
func TestAHitThatWasGivenUpIsNotRetried(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(1)} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			m := node.Map("m", func(context.Context, int) (int, error) {
				calls++
				return 0, hit(11 * time.Minute) // longer than any item waits
			}).WithRetry(thrice).WithFallback(func(_ context.Context, _ int, err error) (int, error) {
				var given *adaptive.RateLimitHit
				require.ErrorAs(t, err, &given) //nolint:testifylint // a failure here ends the item
				assert.Equal(t, 11*time.Minute, given.RetryAfter)
				assert.Equal(t, "m", given.Scope)
				return 0, err
			})
			if limits.Concurrency > 0 {
				m.WithLimits(limits)
			}
			began := time.Now()
			_, err := m.All(t.Context(), []int{1})
			require.ErrorAs(t, err, new(*adaptive.RateLimitHit))
			assert.Equal(t, 1, calls)
			assert.Zero(t, time.Since(began))
		})
	}
}

// A known failure mode: the slot is held during the backoff, and no other item
// can use it.
func TestNothingIsHeldDuringBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		began := time.Now()
		var failed time.Duration // at once, or after item 1, depending on which had the slot first
		finished := map[int]time.Duration{}
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			if i == 0 && calls.add(0) == 1 {
				failed = time.Since(began)
				return 0, errBoom
			}
			err := work(ctx, 100*time.Millisecond)
			finished[i] = time.Since(began) // one at a time
			return i, err
		}).WithParallel(2).WithLimits(concurrency(1)).WithRetry(thrice)
		_, err := m.All(t.Context(), numbers(4))
		require.NoError(t, err)
		assert.Equal(t, map[int]time.Duration{
			1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 3: 300 * time.Millisecond,
			0: failed + 1100*time.Millisecond,
		}, finished)
	})
}

// A known failure of others: refusals for rate use up the attempts.
func TestHitsDoNotConsumeTheRetryBudget(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(1)} {
		synctest.Test(t, func(t *testing.T) {
			answers := []error{hit(time.Second), hit(time.Second), errBoom, hit(time.Second), hit(time.Second), errBoom, hit(time.Second), nil}
			s := &state{}
			b := node.BatchFunc("b", feed(5), func(_ context.Context, i int) (int, error) {
				err := answers[0]
				answers = answers[1:]
				return i, err
			}, keep).WithRetry(thrice)
			if limits.Concurrency > 0 {
				b.WithLimits(limits)
			}
			_, err := b.Run(t.Context(), s)
			require.NoError(t, err)
			assert.Equal(t, []node.Result[int, int]{{In: 5, Out: 5, Attempts: 3, State: node.Done}}, results(s.report))
			assert.Empty(t, answers)
		})
	}
}

func TestFallbackComesAfterTheLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := &state{}
		b := node.BatchFunc("b", feed(1, 2, 3), func(_ context.Context, i int) (int, error) {
			if n := calls.add(i); i != 2 {
				return 0, &codeError{n}
			}
			return i, nil
		}, keep).WithRetry(thrice).WithFallback(func(_ context.Context, i int, err error) (int, error) {
			assert.Equal(t, &codeError{3}, err)
			if i == 3 {
				return 99, fmt.Errorf("fallback: %w", err)
			}
			return -i, nil
		})
		_, err := b.Run(t.Context(), s)
		require.NoError(t, err)
		all := results(s.report)
		assert.Equal(t, node.Result[int, int]{Index: 0, In: 1, Out: -1, Attempts: 3, State: node.Done}, all[0])
		assert.Equal(t, node.Done, all[1].State)
		assert.Equal(t, node.Failed, all[2].State)
		assert.Zero(t, all[2].Out, "an item that failed has no value")
		require.EqualError(t, all[2].Err, "fallback: code 3")
	})
}

func TestFallbackIsNotAskedOnceTheRunIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := node.Map("m", func(ctx context.Context, _ int) (int, error) {
			cancel()
			<-ctx.Done()
			return 0, errors.New("anything")
		}).WithGrace(0).WithFallback(func(context.Context, int, error) (int, error) {
			t.Error("the fallback was asked")
			return 0, nil
		})
		_, err := m.All(ctx, numbers(1))
		require.Error(t, err)
	})
}
