package adaptive_test

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
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/throttle"
)

func perSecond(n float64) throttle.Limits {
	return throttle.Limits{Windows: []throttle.Window{throttle.Bucket(n, 1)}}
}

func TestMeasuredNamesEveryFieldThatIsWrong(t *testing.T) {
	err := adaptive.Measured{Initial: 30, Max: 20, Prior: throttle.Limits{Concurrency: -1}}.Validate()
	var field *fault.FieldError
	require.ErrorAs(t, err, &field)
	assert.ErrorContains(t, err, "Initial: 30 is not between 1 and Max, which is 20")
	assert.ErrorContains(t, err, "Prior: throttle: Concurrency: -1 is negative")
	require.ErrorContains(t, adaptive.Measured{Max: -1}.Validate(), "Max: -1 is below 1")
	require.NoError(t, adaptive.Measured{}.Validate())
	_, err = adaptive.New(adaptive.Config{Law: adaptive.Measured{Max: -1}})
	require.ErrorContains(t, err, "Law: adaptive: Measured: Max: -1 is below 1")
}

func TestMeasuredIsTheDefault(t *testing.T) {
	assert.Equal(t, adaptive.Measured{Initial: 4, Max: 200}, adaptive.Measured{}.WithDefaults())
	assert.Equal(t, 3, adaptive.Measured{Max: 3}.WithDefaults().Initial)
	tier5 := throttle.Limits{Windows: []throttle.Window{
		throttle.Sliding(10_000, time.Minute), throttle.Sliding(1_000_000, time.Minute).Of(throttle.Tokens),
	}}
	assert.Equal(t, 3334, adaptive.Measured{Prior: tier5}.WithDefaults().Max, "10,000 a minute, of 20 s each")
	assert.Equal(t, 200, adaptive.Measured{Prior: tier5, Max: 200}.WithDefaults().Max)
	assert.Equal(t, 9, adaptive.Measured{Prior: throttle.Limits{Concurrency: 9}}.WithDefaults().Initial)
	saved, err := limiter(t, adaptive.Config{}).Save()
	require.NoError(t, err)
	assert.Contains(t, string(saved), `"law":"measured"`)
}

// A prior is where the pace begins, and no cap: it moves both ways.
func TestAPriorPacesFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{Law: adaptive.Measured{Prior: perSecond(10)}})
		began := time.Now()
		for range 101 {
			require.NoError(t, do(t.Context(), l, ok(0)))
		}
		assert.InDelta(t, 10.3, time.Since(began).Seconds(), 0.3, "a hundred at a little less than ten a second")
		assert.InDelta(t, 10, l.View().Pace[throttle.Requests], 0.5)

		for range 2000 {
			require.NoError(t, do(t.Context(), l, ok(0)))
		}
		assert.Greater(t, l.View().Pace[throttle.Requests], 20.0, "nothing was refused")
	})
}

func TestTheFirstCallWaitsForNoTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{Law: adaptive.Measured{Prior: throttle.Limits{
			Windows: []throttle.Window{throttle.Sliding(300_000, time.Minute).Of(throttle.Tokens)},
		}}})
		began := time.Now()
		for _, want := range []time.Duration{0, 9 * time.Second, 18 * time.Second} {
			var at time.Duration
			require.NoError(t, l.Do(t.Context(), throttle.Cost{Tokens: 45_000}, func(context.Context) error {
				at = time.Since(began)
				return nil
			}))
			assert.InDelta(t, want.Seconds(), at.Seconds(), 0.6)
		}

		var wg sync.WaitGroup
		wg.Go(func() { _ = l.Do(t.Context(), throttle.Cost{Tokens: 45_000}, ok(0)) })
		synctest.Wait()
		assert.Regexp(t, `learnt rate of 5\d{3} tokens/s`, l.Explain(), "no exponent")
		wg.Wait()
	})
}

func TestWhatWasLearntIsSavedAndRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := limiter(t, adaptive.Config{Law: adaptive.Measured{Prior: perSecond(10)}})
		saved, err := first.Save()
		require.NoError(t, err)

		second := limiter(t, adaptive.Config{})
		require.NoError(t, second.Restore(saved))
		assert.Equal(t, first.View().Pace, second.View().Pace)
		again, err := second.Save()
		require.NoError(t, err)
		assert.JSONEq(t, string(saved), string(again))

		var wrong *adaptive.SavedError
		require.ErrorAs(t, second.Restore([]byte(`{"law":"aimd","window":9}`)), &wrong)
		assert.ErrorContains(t, wrong, `adaptive: nothing that the law measured has saved: it is of the law "aimd"`)
		require.ErrorAs(t, second.Restore([]byte(`not JSON`)), &wrong)
		assert.Equal(t, first.View().Pace, second.View().Pace, "a failed Restore changes nothing")
	})
}

func TestAIMDIsSavedAndRestored(t *testing.T) {
	l := limiter(t, adaptive.Config{Law: adaptive.AIMD{Initial: 8, Max: 40}})
	l.Learn(t.Context(), time.Now(), of(adaptive.Hit))
	saved, err := l.Save()
	require.NoError(t, err)
	assert.JSONEq(t, `{"law":"aimd","window":4}`, string(saved))
	l = limiter(t, adaptive.Config{Law: adaptive.AIMD{Max: 3}})
	require.NoError(t, l.Restore(saved))
	assert.Equal(t, 3, l.View().Concurrency, "never above Max")
	require.ErrorAs(t, l.Restore([]byte(`{"law":"measured"}`)), new(*adaptive.SavedError))
}

func TestALawThatCannotBeSavedSaysSo(t *testing.T) {
	l := limiter(t, adaptive.Config{Law: unbounded{}})
	_, err := l.Save()
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, l.Restore(nil), errors.ErrUnsupported)
}

// The gate and the history of the windows outlive a Restore.
func TestARestoreKeepsTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{})
		saved, err := l.Save()
		require.NoError(t, err)
		l.Learn(t.Context(), time.Now(), hitAfter(time.Minute))
		gate := l.View().GateUntil
		require.NoError(t, l.Restore(saved))
		assert.Equal(t, gate, l.View().GateUntil)
	})
}

func TestEveryDecisionIsAnEventWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		p := &provider{cap: 1000, perToken: 100 * time.Millisecond, burst: 10, latency: 200 * time.Millisecond}
		l := limiter(t, adaptive.Config{}, adaptive.WithObserver(&seen))
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				for range 40 {
					assert.NoError(t, do(t.Context(), l, func(context.Context) error { return p.call() }))
				}
			})
		}
		wg.Wait()
		kinds := map[event.Kind]int{}
		for _, e := range seen.events {
			kinds[e.Kind]++
			assert.NotEmpty(t, e.Reason, e.Kind)
		}
		assert.Positive(t, kinds[event.LimiterCut])
		assert.Positive(t, kinds[event.LimiterProbe], "the pace grows beyond what was measured")
		assert.Equal(t, int(l.View().Cuts), kinds[event.LimiterCut])
		assert.Equal(t, 1600, p.served)
		assert.Less(t, p.refused, 80)
	})
}

func TestExplainNamesWhatBindsAndWhatComesNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{Law: adaptive.Measured{Initial: 1, Prior: perSecond(2)}})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { assert.NoError(t, do(t.Context(), l, ok(0))) })
		}
		synctest.Wait()
		assert.Contains(t, l.Explain(), "held back by the learnt rate of 1.94 requests/s, more is tried in ")
		wg.Wait()

		l = limiter(t, adaptive.Config{Law: adaptive.Measured{Initial: 1}})
		for range 2 {
			wg.Go(func() { assert.NoError(t, do(t.Context(), l, ok(time.Second))) })
		}
		synctest.Wait()
		assert.Equal(t, "1 in flight of 1, 1 waiting: held back by a start with 1 calls in flight, one more for each answer", l.Explain())
		wg.Wait()

		l = limiter(t, adaptive.Config{Law: adaptive.Measured{Max: 1}})
		for range 2 {
			wg.Go(func() { assert.NoError(t, do(t.Context(), l, ok(time.Second))) })
		}
		synctest.Wait()
		assert.Equal(t, "1 in flight of 1, 1 waiting: held back by 1 calls in flight, the most that the law may use (Max)", l.Explain())
		wg.Wait()
	})
}

// A refusal that names the calls in flight is believed at once.
func TestACapThatIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{cap: 8, perToken: time.Millisecond, burst: 1000, latency: 300 * time.Millisecond}
		l := limiter(t, adaptive.Config{Law: adaptive.Measured{}})
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				for range 20 {
					assert.NoError(t, do(t.Context(), l, func(context.Context) error { return p.call() }))
				}
			})
		}
		synctest.Wait()
		wg.Wait()
		assert.Equal(t, 600, p.served)
		assert.Equal(t, 8, p.most)
		assert.Less(t, p.refused, 60)
		assert.LessOrEqual(t, l.View().Concurrency, 10)
	})
}

// What the headers say paces before anything is refused.
func TestHeadersPaceWithoutARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, refill = 20, 100 * time.Millisecond
		left, at := float64(limit), time.Now()
		var mu sync.Mutex
		refused := 0
		call := func(ctx context.Context) error {
			mu.Lock()
			now := time.Now()
			left = min(limit, left+float64(now.Sub(at))/float64(refill))
			at = now
			if left < 1 {
				refused++
				mu.Unlock()
				return statusError(429)
			}
			left--
			f := adaptive.Feedback{Verdict: adaptive.OK}
			f.Meters[throttle.Requests] = adaptive.Meter{
				Known: true, Limit: limit, Remaining: int64(left), Reset: time.Duration((limit - left) * float64(refill)),
			}
			mu.Unlock()
			time.Sleep(50 * time.Millisecond)
			adaptive.Report(ctx, f)
			return nil
		}
		run := func(law adaptive.Law) (took time.Duration) {
			l := limiter(t, adaptive.Config{Law: law})
			began := time.Now()
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					for range 50 {
						assert.NoError(t, do(t.Context(), l, call))
					}
				})
			}
			wg.Wait()
			return time.Since(began)
		}
		took := run(adaptive.Measured{})
		assert.LessOrEqual(t, refused, 25, "a few at the start, when nothing has been told yet")
		byHeaders := refused
		assert.InDelta(t, 50, took.Seconds(), 5, "500 calls at ten a second")

		time.Sleep(time.Minute)
		run(adaptive.Measured{IgnoreHeaders: true})
		assert.Greater(t, refused, byHeaders, "who does not read them has to find out")
	})
}
