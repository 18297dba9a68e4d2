package guard_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

func perSecond(n float64) throttle.Limits {
	return throttle.Limits{Windows: []throttle.Window{throttle.Bucket(n, 1)}}
}

// A prior is where the rate starts, and no cap.
func TestAPriorPacesFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Law: adaptive.Measured{Prior: perSecond(10)}})
		began := time.Now()
		for range 101 {
			require.NoError(t, do(t.Context(), l, ok(0)))
		}
		assert.InDelta(t, 10.3, time.Since(began).Seconds(), 0.3, "a hundred at a little less than ten a second")
		assert.InDelta(t, 10, l.Stats().View.Pace[throttle.Requests], 0.5)

		for range 2000 {
			require.NoError(t, do(t.Context(), l, ok(0)))
		}
		assert.Greater(t, l.Stats().View.Pace[throttle.Requests], 20.0, "nothing was rejected")
	})
}

func TestTheFirstCallWaitsForNoTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Law: adaptive.Measured{Prior: throttle.Limits{
			Windows: []throttle.Window{throttle.Sliding(50_000, 10*time.Second).Of(throttle.Tokens)},
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
		assert.Regexp(t, `learned rate of 5\d{3} tokens/s`, l.Stats().Why, "no exponent")
		wg.Wait()
	})
}

func TestEveryDecisionIsAnEventWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		p := &provider{cap: 1000, perToken: 100 * time.Millisecond, burst: 10, latency: 200 * time.Millisecond}
		l := made(t, observed(guard.Policy{}, &seen))
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
		assert.Equal(t, int(l.Stats().View.Cuts), kinds[event.LimiterCut])
		assert.Equal(t, 1600, p.served)
		assert.Less(t, p.rejected, 80)
	})
}

// A rejection that names the calls in flight is believed at once.
func TestACapThatIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{cap: 8, perToken: time.Millisecond, burst: 1000, latency: 300 * time.Millisecond}
		l := made(t, guard.Policy{Law: adaptive.Measured{}})
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
		assert.Less(t, p.rejected, 60)
		assert.LessOrEqual(t, l.Stats().View.Concurrency, 10)
	})
}

func TestHeadersPaceWithoutARejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, refill = 20, 100 * time.Millisecond
		left, at := float64(limit), time.Now()
		var mu sync.Mutex
		rejected := 0
		call := func(ctx context.Context) error {
			mu.Lock()
			now := time.Now()
			left = min(limit, left+float64(now.Sub(at))/float64(refill))
			at = now
			if left < 1 {
				rejected++
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
			guard.Report(ctx, f)
			return nil
		}
		run := func(law adaptive.Law) (took time.Duration) {
			l := made(t, guard.Policy{Law: law})
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
		assert.LessOrEqual(t, rejected, 25, "a few at the start, before the first headers")
		byHeaders := rejected
		assert.InDelta(t, 50, took.Seconds(), 5, "500 calls at ten a second")

		time.Sleep(time.Minute)
		run(adaptive.Measured{IgnoreHeaders: true})
		assert.Greater(t, rejected, byHeaders, "without the headers it has to find out")
	})
}
