package adaptive_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// What an enclosing call has reserved does not pay for more than that.
func TestACallInsideKeepsTheWindows(t *testing.T) {
	for _, outer := range []throttle.Cost{{}, {Tokens: 1}} {
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, adaptive.Config{Limits: throttle.Limits{Windows: []throttle.Window{
				throttle.Sliding(100, time.Minute).Of(throttle.Tokens),
			}}})
			began := time.Now()
			var mu sync.Mutex
			var sent []time.Duration
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					assert.NoError(t, l.Do(t.Context(), outer, func(ctx context.Context) error {
						return l.Do(ctx, throttle.Cost{Tokens: 100}, func(context.Context) error {
							mu.Lock()
							defer mu.Unlock()
							sent = append(sent, time.Since(began))
							return nil
						})
					}))
				})
			}
			wg.Wait()
			require.Len(t, sent, 5)
			for i := 1; i < len(sent); i++ {
				assert.GreaterOrEqual(t, sent[i]-sent[i-1], time.Minute, "100 tokens each, 100 a minute")
			}
			assert.Zero(t, l.Throttle().Stats().InFlight)
		})
	}
}

func TestACostInsideThatNeverFitsIsUnsent(t *testing.T) {
	l := limiter(t, adaptive.Config{Limits: throttle.Limits{Windows: []throttle.Window{
		throttle.Sliding(100, time.Minute).Of(throttle.Tokens),
	}}})
	err := l.Do(t.Context(), throttle.Cost{Tokens: 1}, func(ctx context.Context) error {
		return l.Do(ctx, throttle.Cost{Tokens: 101}, func(context.Context) error {
			t.Error("it was sent")
			return nil
		})
	})
	require.ErrorIs(t, err, throttle.ErrCost)
	assert.Zero(t, l.Throttle().Stats().InFlight)
}

// answers lets a call end with each error, a second apart.
func answers(t *testing.T, l *adaptive.Limiter, errs ...error) {
	t.Helper()
	var wg sync.WaitGroup
	for i, err := range errs {
		wg.Go(func() {
			assert.Error(t, do(t.Context(), l, func(context.Context) error {
				time.Sleep(time.Duration(i+1) * time.Second)
				return err
			}))
		})
	}
	wg.Wait()
}

func TestAUsedUpQuotaOutlastsALongRetryAfter(t *testing.T) {
	for name, errs := range map[string][]error{
		"quota last":  {&adaptive.RateLimitHit{RetryAfter: 11 * time.Minute}, statusError(402)},
		"quota first": {statusError(402), &adaptive.RateLimitHit{RetryAfter: 11 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limiter(t, adaptive.Config{})
				answers(t, l, errs...)
				time.Sleep(20 * time.Minute)
				require.ErrorIs(t, do(t.Context(), l, ok(0)), adaptive.ErrQuotaExhausted)
			})
		})
	}
}

func TestTheLongestRetryAfterCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{})
		answers(t, l,
			&adaptive.RateLimitHit{RetryAfter: 11 * time.Minute}, &adaptive.RateLimitHit{RetryAfter: 3 * time.Hour})
		time.Sleep(20 * time.Minute)
		began := time.Now()
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, do(t.Context(), l, ok(0)), &hit)
		assert.Equal(t, 3*time.Hour, hit.RetryAfter)
		assert.Zero(t, time.Since(began), "nobody hangs at the gate")
	})
}

// together counts how many of n calls that take a while are sent at the moment of the first.
func together(t *testing.T, l *adaptive.Limiter, n int) (same int) {
	t.Helper()
	var mu sync.Mutex
	var sent []time.Time
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			assert.NoError(t, do(t.Context(), l, func(context.Context) error {
				mu.Lock()
				sent = append(sent, time.Now())
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				return nil
			}))
		})
	}
	wg.Wait()
	for _, at := range sent {
		if at.Equal(sent[0]) {
			same++
		}
	}
	return same
}

func TestTheGateReopensStepByStepOnAKeyWithoutASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{Law: adaptive.AIMD{Initial: 20}})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				fn, _ := refusedOnce(time.Second)
				assert.NoError(t, do(t.Context(), l, fn))
			})
		}
		synctest.Wait()
		assert.Equal(t, 1, together(t, l, 5))
		wg.Wait()
	})
}

func TestTheGateOfBeforeAResetOpensStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{Law: adaptive.AIMD{Initial: 8}})
		var wg sync.WaitGroup
		wg.Go(func() {
			fn, _ := refusedOnce(10 * time.Second)
			assert.NoError(t, do(t.Context(), l, fn))
		})
		synctest.Wait()
		require.NoError(t, l.Reset())
		assert.Equal(t, 1, together(t, l, 8))
		wg.Wait()
	})
}

// named is an error of the kind that carries other people's names.
type named struct{ err error }

func (e *named) Error() string { return `node "ask the rate limited API": ` + e.err.Error() }
func (e *named) Unwrap() error { return e.err }

func TestNamesAreNoRefusals(t *testing.T) {
	for _, err := range []error{
		&named{errors.New("bad JSON")},
		fmt.Errorf("too many requests in file: %w", errors.New("bad JSON")),
		&fs.PathError{Op: "open", Path: "ratelimit.csv", Err: fs.ErrNotExist},
		&throttle.LimitedError{Limiter: "rate limit"},
	} {
		assert.Equal(t, adaptive.Unclassified, adaptive.DefaultDetector(err).Verdict, "%v", err)
	}
	for _, err := range []error{
		&named{errors.New("429 Too Many Requests")},
		errors.Join(errors.New("bad JSON"), errors.New("rate limit reached")),
	} {
		assert.Equal(t, adaptive.Hit, adaptive.DefaultDetector(err).Verdict, "%v", err)
	}
}

func TestALimiterWithoutALawBeginsAtItsConcurrency(t *testing.T) {
	assert.Equal(t, 100, limiter(t, adaptive.Config{Limits: throttle.Limits{Concurrency: 100}}).View().Concurrency)
	assert.Equal(t, 2, limiter(t, adaptive.Config{Limits: throttle.Limits{Concurrency: 2}}).View().Concurrency)
	assert.Equal(t, 4, limiter(t, adaptive.Config{}).View().Concurrency)
}

// A call inside that is turned away leaves the enclosing call what it has.
func TestACallInsideThatIsTurnedAwayTakesNothing(t *testing.T) {
	l := limiter(t, adaptive.Config{Limits: throttle.Limits{Concurrency: 1, Windows: []throttle.Window{
		throttle.Sliding(100, time.Minute).Of(throttle.Tokens),
	}}})
	require.NoError(t, l.Do(t.Context(), throttle.Cost{Tokens: 1}, func(ctx context.Context) error {
		for _, cost := range []int64{101, -1} {
			err := l.Do(ctx, throttle.Cost{Tokens: cost}, func(context.Context) error { return nil })
			require.ErrorIs(t, err, throttle.ErrCost)
		}
		in, stop := context.WithCancel(ctx)
		stop()
		err := l.Do(intake.With(ctx, in), throttle.Cost{Tokens: 50}, func(context.Context) error { return nil })
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, l.Throttle().Stats().InFlight)
		return nil
	}))
}

func TestResetLeavesAClosingForATimeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{})
		answers(t, l, &adaptive.RateLimitHit{RetryAfter: 5 * time.Hour})
		require.NoError(t, l.Reset())
		began := time.Now()
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, do(t.Context(), l, ok(0)), &hit)
		assert.Zero(t, time.Since(began))
	})
}

// The gate is jittered upwards; nobody falls between the closing and the gate.
func TestTheClosingLastsAsLongAsTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{})
		answers(t, l, &adaptive.RateLimitHit{RetryAfter: 24 * time.Hour})
		time.Sleep(time.Until(l.View().GateUntil) - time.Nanosecond)
		require.Error(t, do(t.Context(), l, ok(0)))
		time.Sleep(time.Nanosecond)
		began := time.Now()
		require.NoError(t, do(t.Context(), l, ok(0)))
		assert.Zero(t, time.Since(began))
	})
}

func TestTheGateOfBeforeAResetIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{})
		l.Learn(t.Context(), time.Now(), hitAfter(time.Minute))
		require.NoError(t, l.Reset())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Error(t, do(ctx, l, ok(0)))
		assert.Equal(t, "the gate after a refusal", l.View().Bound)
	})
}

func TestABadConcurrencyIsOneProblem(t *testing.T) {
	_, err := adaptive.New(adaptive.Config{Name: "api", Limits: throttle.Limits{Concurrency: -1}})
	require.EqualError(t, err, "adaptive: api: Limits: throttle: Concurrency: -1 is negative: use 0 for unbounded, or at least 1")
}
