package adaptive_test

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
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

func TestJudgeIsWhatTheLimiterWillMakeOfIt(t *testing.T) {
	errMine := errors.New("mine")
	l := limiter(t, adaptive.Config{Detector: func(err error) (f adaptive.Feedback) {
		if errors.Is(err, errMine) {
			f.Verdict = adaptive.Transient
		}
		return f
	}})
	_ = do(t.Context(), l, func(ctx context.Context) error {
		adaptive.Use(ctx, throttle.Cost{Tokens: 3})
		f := adaptive.Judge(ctx, errMine)
		assert.Equal(t, adaptive.Feedback{Verdict: adaptive.Transient, Used: throttle.Cost{Tokens: 3}, Err: errMine}, f)
		assert.Equal(t, adaptive.OK, adaptive.Judge(ctx, nil).Verdict)
		adaptive.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
		assert.Equal(t, adaptive.Unsent, adaptive.Judge(ctx, errMine).Verdict, "what was reported goes first")
		assert.Equal(t, throttle.Cost{Tokens: 3}, adaptive.Judge(ctx, nil).Used)
		return nil
	})
	assert.Equal(t, adaptive.Hit, adaptive.Judge(t.Context(), statusError(429)).Verdict)
	assert.Equal(t, adaptive.Unclassified, adaptive.Judge(t.Context(), errMine).Verdict)
}

// No refusal of ours opens a breaker.
func TestABreakerTakesNoRefusalForAFailure(t *testing.T) {
	for _, err := range []error{
		&adaptive.RateLimitHit{}, givenUp(t), adaptive.ErrQuotaExhausted,
		limiterWithoutMoney(t), &throttle.DeadlineError{}, &throttle.LimitedError{},
	} {
		assert.Equal(t, breaker.Undecided, breaker.DefaultClassify(fmt.Errorf("x: %w", err)), "%v", err)
	}
	assert.EqualError(t, adaptive.ErrQuotaExhausted, "adaptive: quota exhausted")
}

func limiterWithoutMoney(t *testing.T) error {
	t.Helper()
	err := do(t.Context(), limiter(t, adaptive.Config{}), func(context.Context) error { return statusError(402) })
	require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	return err
}

// A refused call that could only go again after its deadline says so at once,
// and still by whom it was refused.
func TestADeadlineTooNearToGoAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{Name: "api", Limits: throttle.Limits{
			Windows: []throttle.Window{throttle.Sliding(1, time.Minute)},
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began := time.Now()
		err := do(ctx, l, func(context.Context) error { return &adaptive.RateLimitHit{Scope: "them", RetryAfter: time.Second} })
		assert.Equal(t, began, time.Now())
		var late *throttle.DeadlineError
		require.ErrorAs(t, err, &late)
		assert.Equal(t, time.Minute, late.Wait)
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, err, &hit)
		assert.Equal(t, "them", hit.Scope)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, adaptive.Unclassified, adaptive.Classify(nil, err).Verdict, "nobody waits for it again")

		err = do(ctx, l, ok(0))
		require.ErrorAs(t, err, &late)
		assert.NotErrorAs(t, err, new(*adaptive.RateLimitHit), "it was not refused")
	})
}

// Without the intake's deadline the call would wait for it.
func TestTheDeadlineOfTheIntakeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Minute)}}})
		require.True(t, l.Throttle().Allow(throttle.Cost{}))
		in, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := do(intake.With(t.Context(), in), l, ok(0))
		require.ErrorAs(t, err, new(*throttle.DeadlineError))
	})
}
