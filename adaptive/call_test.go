package adaptive_test

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
	"github.com/headrace/headrace/throttle"
)

// perMinute is a limiter of n tokens a minute.
func perMinute(t *testing.T, n int64) *adaptive.Limiter {
	t.Helper()
	c := capped(20)
	c.Limits.Windows = []throttle.Window{throttle.Sliding(n, time.Minute).Of(throttle.Tokens)}
	return limiter(t, c)
}

// waits is how long a call of n tokens has to wait.
func waits(t *testing.T, l *adaptive.Limiter, n int64) time.Duration {
	t.Helper()
	began := time.Now()
	require.NoError(t, l.Do(t.Context(), throttle.Cost{Tokens: n}, ok(0)))
	return time.Since(began)
}

func tokens(n int64) throttle.Cost { return throttle.Cost{Tokens: n} }

func TestUseSettles(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fn    func(context.Context) error
		waits time.Duration // of a call of 90 tokens, after one that reserved 60
	}{
		{"as reserved", func(context.Context) error { return nil }, time.Minute},
		{"less", func(ctx context.Context) error { adaptive.Use(ctx, tokens(10)); return nil }, 0},
		{"less, by an error", func(ctx context.Context) error { adaptive.Use(ctx, tokens(10)); return io.EOF }, 0},
		{"less, by a panic", func(ctx context.Context) error { adaptive.Use(ctx, tokens(10)); panic("fn") }, 0},
		{"more", func(ctx context.Context) error { adaptive.Use(ctx, tokens(200)); return nil }, time.Minute},
		{"the last word counts", func(ctx context.Context) error {
			adaptive.Use(ctx, tokens(90))
			adaptive.Use(ctx, tokens(10))
			return nil
		}, 0},
		{"Report leaves it", func(ctx context.Context) error {
			adaptive.Use(ctx, tokens(10))
			adaptive.Report(ctx, of(adaptive.OK))
			return nil
		}, 0},
		{"Report has a word too", func(ctx context.Context) error {
			adaptive.Use(ctx, tokens(90))
			adaptive.Report(ctx, adaptive.Feedback{Used: tokens(10)})
			return nil
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := perMinute(t, 100)
				func() {
					defer func() { _ = recover() }()
					_ = l.Do(t.Context(), tokens(60), tc.fn)
				}()
				assert.Equal(t, tc.waits, waits(t, l, 90))
			})
		})
	}
}

func TestOutsideACallNothingHappens(t *testing.T) {
	adaptive.Use(t.Context(), tokens(1))
	adaptive.Report(t.Context(), of(adaptive.Hit))
	assert.False(t, adaptive.Abandon(t.Context()))
}

func TestReportGoesBeforeTheDetectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := capped(8)
		c.Detector = func(error) adaptive.Feedback { return of(adaptive.Hit) }
		l := limiter(t, c)
		err := do(t.Context(), l, func(ctx context.Context) error {
			adaptive.Report(ctx, of(adaptive.Transient))
			return statusError(429)
		})
		assert.Equal(t, statusError(429), err, "not retried")
		assert.Zero(t, l.View().Hits)

		calls := 0
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			if calls++; calls == 1 {
				adaptive.Report(ctx, hitAfter(time.Second))
			}
			return nil // an answer that hides its refusal
		}))
		assert.Equal(t, 2, calls)
		assert.Equal(t, int64(1), l.View().Hits)
	})
}

// What the headers said is kept when the verdict is left to the detectors.
func TestAReportWithoutAVerdictCompletesTheDetectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		law := &recording{}
		l := limiter(t, adaptive.Config{Law: law})
		meters := [throttle.Units]adaptive.Meter{throttle.Tokens: {Known: true, Limit: 9}}
		calls := 0
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			if calls++; calls > 1 {
				return nil
			}
			adaptive.Report(ctx, adaptive.Feedback{RetryAfter: 7 * time.Second, Meters: meters})
			return answered(429, "Retry-After", "1")
		}))
		require.Len(t, law.heard, 2)
		assert.Equal(t, adaptive.Hit, law.heard[0].Verdict)
		assert.Equal(t, 7*time.Second, law.heard[0].RetryAfter)
		assert.Equal(t, meters, law.heard[0].Meters)
		assert.Equal(t, adaptive.OK, law.heard[1].Verdict)
	})
}

// recording is AIMD that notes what it is told.
type recording struct {
	adaptive.State
	heard []adaptive.Feedback
	hits  []*adaptive.RateLimitHit // signalled
	sent  []throttle.Sent
	still []int
}

func (r *recording) Start(now time.Time, seed uint64) (adaptive.State, error) {
	var err error
	r.State, err = adaptive.AIMD{}.Start(now, seed)
	return r, err
}

func (r *recording) OnResult(now time.Time, s throttle.Sent, inFlight int, f adaptive.Feedback) {
	r.heard, r.sent, r.still = append(r.heard, f), append(r.sent, s), append(r.still, inFlight)
	r.State.OnResult(now, s, inFlight, f)
}

func (r *recording) OnSignal(now time.Time, h *adaptive.RateLimitHit) {
	r.hits = append(r.hits, h)
	r.State.OnSignal(now, h)
}

func TestWhatALawIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		law := &recording{}
		l := limiter(t, adaptive.Config{Law: law})
		began := time.Now()
		require.NoError(t, l.Do(t.Context(), tokens(5), func(ctx context.Context) error {
			time.Sleep(time.Second)
			return l.Do(context.WithoutCancel(t.Context()), tokens(6), func(ctx context.Context) error { //nolint:contextcheck // so that it takes nothing over
				adaptive.Use(ctx, tokens(7))
				return nil
			})
		}))
		require.Len(t, law.heard, 2)
		assert.Equal(t, []int{1, 0}, law.still, "calls still out, without the one that ended")
		assert.Equal(t, tokens(7), law.heard[0].Used)
		assert.Equal(t, tokens(6), law.sent[0].Cost)
		assert.Equal(t, int64(2), law.sent[0].Seq)
		assert.Equal(t, began.Add(time.Second), law.sent[0].At)
		assert.Equal(t, int64(1), law.sent[1].Seq)
		assert.Equal(t, began, law.sent[1].At)
	})
}

func TestUnsentUndoesTheAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := perMinute(t, 100)
		err := l.Do(t.Context(), tokens(100), func(ctx context.Context) error {
			adaptive.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent, Used: tokens(50)})
			return io.EOF
		})
		assert.Equal(t, io.EOF, err)
		assert.Zero(t, waits(t, l, 100), "the window has forgotten it")
		assert.Zero(t, l.Throttle().Stats().InFlight)
	})
}

func TestAbandonFreesTheSlotAndTheLateReturnIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		l := limiter(t, capped(1), adaptive.WithObserver(&seen))
		calls := 0
		var hung context.Context
		var wg sync.WaitGroup
		wg.Go(func() {
			err := do(t.Context(), l, func(ctx context.Context) error { //nolint:contextcheck // hung is what comes out
				calls++
				hung = ctx // for the supervisor
				time.Sleep(time.Hour)
				return statusError(429)
			})
			assert.Equal(t, statusError(429), err)
		})
		synctest.Wait()
		assert.True(t, adaptive.Abandon(hung))
		assert.False(t, adaptive.Abandon(hung))
		assert.Zero(t, l.Throttle().Stats().InFlight)
		require.NoError(t, do(t.Context(), l, ok(0)))
		wg.Wait()
		assert.Equal(t, 1, calls)
		assert.Zero(t, l.View().Hits)
		assert.Empty(t, seen.kinds())
		assert.False(t, adaptive.Abandon(hung))
	})
}

func TestAbandonReachesThePermitThatWasHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(1))
		outer, inner := 0, 0
		var hung context.Context
		var wg sync.WaitGroup
		wg.Go(func() {
			err := do(t.Context(), l, func(ctx context.Context) error { //nolint:contextcheck // hung is what comes out
				outer++
				hung = ctx // for the supervisor
				_ = do(ctx, l, func(context.Context) error {
					inner++
					time.Sleep(time.Hour)
					return statusError(429)
				})
				return statusError(429)
			})
			assert.Equal(t, statusError(429), err)
		})
		synctest.Wait()
		assert.True(t, adaptive.Abandon(hung))
		assert.Zero(t, l.Throttle().Stats().InFlight)
		wg.Wait()
		assert.Equal(t, []int{1, 1}, []int{outer, inner})
		assert.Zero(t, l.View().Hits)
	})
}

func TestALateUsedUpQuotaOfAnAbandonedCallDoesNotClose(t *testing.T) {
	l := limiter(t, capped(1))
	err := do(t.Context(), l, func(ctx context.Context) error {
		adaptive.Abandon(ctx)
		return statusError(402)
	})
	assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
	assert.NoError(t, l.Throttle().Stats().Closed)
}

func TestAnAbandonedCallHasNoPermitToGive(t *testing.T) {
	l := limiter(t, capped(1))
	require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
		adaptive.Abandon(ctx)
		return do(ctx, l, ok(0))
	}))
	assert.Equal(t, int64(2), l.Throttle().Stats().Admitted)
}

func TestAQuotaThatAReportCallsUsedUp(t *testing.T) {
	l := limiter(t, adaptive.Config{Name: "api"})
	err := do(t.Context(), l, func(ctx context.Context) error {
		adaptive.Report(ctx, of(adaptive.Terminal))
		return nil
	})
	assert.EqualError(t, err, `adaptive: quota exhausted: limiter "api"`)
	assert.True(t, errors.Is(err, adaptive.ErrQuotaExhausted))
}
