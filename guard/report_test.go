package guard_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/throttle"
)

func TestUseSettles(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fn    func(context.Context) error
		waits time.Duration // of a call of 90 tokens, after one that reserved 60
	}{
		{"as reserved", func(context.Context) error { return nil }, time.Minute},
		{"less", func(ctx context.Context) error { guard.Use(ctx, tokens(10)); return nil }, 0},
		{"less, by an error", func(ctx context.Context) error { guard.Use(ctx, tokens(10)); return io.EOF }, 0},
		{"less, by a panic", func(ctx context.Context) error { guard.Use(ctx, tokens(10)); panic("fn") }, 0},
		{"more", func(ctx context.Context) error { guard.Use(ctx, tokens(200)); return nil }, time.Minute},
		{"the last word counts", func(ctx context.Context) error {
			guard.Use(ctx, tokens(90))
			guard.Use(ctx, tokens(10))
			return nil
		}, 0},
		{"Report leaves it", func(ctx context.Context) error {
			guard.Use(ctx, tokens(10))
			guard.Report(ctx, of(adaptive.OK))
			return nil
		}, 0},
		{"Report has a word too", func(ctx context.Context) error {
			guard.Use(ctx, tokens(90))
			guard.Report(ctx, adaptive.Feedback{Used: tokens(10)})
			return nil
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := perMinute(t, 100)
				_ = l.Do(t.Context(), tokens(60), tc.fn)
				assert.Equal(t, tc.waits, waits(t, l, 90))
			})
		})
	}
}

func TestOutsideACallNothingHappens(t *testing.T) {
	guard.Use(t.Context(), tokens(1))
	guard.Report(t.Context(), of(adaptive.Hit))
	assert.False(t, abandon(t.Context()))
}

func TestReportTakesPrecedenceOverDetectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := capped(8)
		c.Detector = func(error) adaptive.Feedback { return of(adaptive.Hit) }
		l := made(t, c)
		err := do(t.Context(), l, func(ctx context.Context) error {
			guard.Report(ctx, of(adaptive.Transient))
			return statusError(429)
		})
		assert.Equal(t, statusError(429), err, "not retried")
		assert.Zero(t, l.Stats().View.Hits)

		calls := 0
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			if calls++; calls == 1 {
				guard.Report(ctx, hitAfter(time.Second))
			}
			return nil // a rejection in an answer without an error
		}))
		assert.Equal(t, 2, calls)
		assert.Equal(t, int64(1), l.Stats().View.Hits)
	})
}

// What the headers said is kept if the verdict is left to the detectors.
func TestAReportWithoutAVerdictCompletesTheDetectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		law := &recording{}
		l := made(t, guard.Policy{Law: law})
		meters := [throttle.Units]adaptive.Meter{throttle.Tokens: {Known: true, Limit: 9}}
		calls := 0
		require.NoError(t, do(t.Context(), l, func(ctx context.Context) error {
			if calls++; calls > 1 {
				return nil
			}
			guard.Report(ctx, adaptive.Feedback{RetryAfter: 7 * time.Second, Meters: meters})
			return answered("Retry-After", "1")
		}))
		require.Len(t, law.results, 2)
		assert.Equal(t, adaptive.Hit, law.results[0].Verdict)
		assert.Equal(t, 7*time.Second, law.results[0].RetryAfter)
		assert.Equal(t, meters, law.results[0].Meters)
		assert.Equal(t, adaptive.OK, law.results[1].Verdict)
	})
}

func TestWhatALawReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		law := &recording{}
		l := made(t, guard.Policy{Law: law})
		began := time.Now()
		require.NoError(t, l.Do(t.Context(), tokens(5), func(ctx context.Context) error {
			time.Sleep(time.Second)
			return l.Do(context.WithoutCancel(t.Context()), tokens(6), func(ctx context.Context) error { //nolint:contextcheck // so that it takes nothing over
				guard.Use(ctx, tokens(7))
				return nil
			})
		}))
		require.Len(t, law.results, 2)
		assert.Equal(t, []int{1, 0}, law.still, "calls still out, without the one that ended")
		assert.Equal(t, throttle.Cost{Requests: 1, Tokens: 7}, law.results[0].Used)
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
			guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent, Used: tokens(50)})
			return io.EOF
		})
		assert.Equal(t, io.EOF, err)
		assert.Zero(t, waits(t, l, 100), "the window has forgotten it")
		assert.Zero(t, l.Stats().InFlight)
	})
}

// A call that was never sent does not count as admitted, with and without limits.
func TestUnsentCallsAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, p := range map[string]guard.Policy{
			"with admission": {Law: &recording{}}, "with limits": {Limits: throttle.Limits{Concurrency: 1}}, "without admission": {},
		} {
			g := made(t, p)
			unsent := func(ctx context.Context) error {
				guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
				return nil
			}
			require.NoError(t, do(t.Context(), g, unsent), name)
			require.NoError(t, do(t.Context(), g, nothing), name)
			require.NoError(t, do(t.Context(), g, unsent), name)
			assert.EqualValues(t, 1, g.Stats().Admitted, name)
			require.NoError(t, do(t.Context(), g, func(ctx context.Context) error {
				require.NoError(t, g.Reset())
				return unsent(ctx)
			}), name)
			assert.Zero(t, g.Stats().Admitted, name)
		}
	})
}

func TestJudge(t *testing.T) {
	errMine := errors.New("mine")
	l := made(t, guard.Policy{Detector: func(err error) (f adaptive.Feedback) {
		if errors.Is(err, errMine) {
			f.Verdict = adaptive.Transient
		}
		return f
	}})
	_ = do(t.Context(), l, func(ctx context.Context) error {
		guard.Use(ctx, throttle.Cost{Tokens: 3})
		f := inflight.Of(ctx).Judge(errMine)
		assert.Equal(t, adaptive.Feedback{Verdict: adaptive.Transient, Used: throttle.Cost{Tokens: 3}, Err: errMine}, f)
		assert.Equal(t, adaptive.OK, inflight.Of(ctx).Judge(nil).Verdict)
		guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
		assert.Equal(t, adaptive.Unsent, inflight.Of(ctx).Judge(errMine).Verdict, "what was reported goes first")
		assert.Equal(t, throttle.Cost{Tokens: 3}, inflight.Of(ctx).Judge(nil).Used)
		return nil
	})
}
