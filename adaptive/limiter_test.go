package adaptive_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

func TestResetStartsTheLawAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(8))
		burst(t.Context(), t, l, 1)
		require.Equal(t, 4, l.View().Concurrency)
		require.NoError(t, l.Reset())
		v := l.View()
		assert.Equal(t, 8, v.Concurrency)
		assert.Zero(t, v.Hits+v.Cuts)
		assert.Zero(t, l.Throttle().Stats().Admitted)
	})
}

func TestResetKeepsTheHistoryOfTheWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := perMinute(t, 100)
		assert.Zero(t, waits(t, l, 100))
		require.NoError(t, l.Reset())
		assert.Equal(t, time.Minute, waits(t, l, 1))
	})
}

// The waiting call may not slip through the moment between the old law's gate and the new law.
func TestResetKeepsTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(8))
		fn, calls := refusedOnce(time.Minute)
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, fn)) })
		synctest.Wait()
		gate := l.View().GateUntil
		assertJittered(t, time.Minute, gate.Sub(began))
		for range 2 { // it survives the second time as well
			require.NoError(t, l.Reset())
			synctest.Wait()
			assert.Equal(t, int64(1), calls.Load())
			assert.Equal(t, gate, l.View().GateUntil)
		}
		assert.Contains(t, l.Explain(), "the gate opens in 1m")
		require.NoError(t, do(t.Context(), l, ok(0)))
		assert.Equal(t, gate.Add(time.Second/8), time.Now(), "one in eight, over the second that stands for a round trip")
		wg.Wait()
	})
}

func TestTheGateOfBeforeAResetIsOnlyALowerBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(8))
		l.Learn(t.Context(), time.Now(), hitAfter(time.Second))
		require.NoError(t, l.Reset())
		l.Learn(t.Context(), time.Now(), hitAfter(time.Minute))
		assertJittered(t, time.Minute, time.Until(l.View().GateUntil))
		began := time.Now()
		require.NoError(t, do(t.Context(), l, ok(0)))
		assertJittered(t, time.Minute, time.Since(began))
	})
}

// The new state does not know the numbers of the calls that are still out.
func TestABurstFromBeforeAResetCutsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(8))
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				calls := 0
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					if calls++; calls == 1 {
						time.Sleep(time.Second + time.Duration(i))
						return statusError(429)
					}
					return nil
				}))
			})
		}
		time.Sleep(time.Second / 2)
		require.NoError(t, l.Reset())
		time.Sleep(time.Second/2 + time.Millisecond)
		assert.Equal(t, 4, l.View().Concurrency)
		assert.Equal(t, int64(1), l.View().Cuts)
		wg.Wait()
	})
}

func TestLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, parent := limiter(t, capped(8)), limiter(t, capped(8))
		ctx := adaptive.Enclose(t.Context(), parent, false)
		sent := time.Now()
		time.Sleep(time.Second)
		for range 3 { // calls that were sent together
			l.Learn(ctx, sent, hitAfter(time.Minute))
		}
		assert.Equal(t, 4, l.View().Concurrency)
		assert.Equal(t, int64(3), l.View().Hits)
		assertJittered(t, time.Minute, time.Until(l.View().GateUntil))
		assert.Equal(t, 4, parent.View().Concurrency)

		l.Learn(ctx, sent, of(adaptive.Terminal))
		assert.EqualError(t, do(t.Context(), l, ok(0)), `adaptive: quota exhausted: limiter "api"`)
	})
}

func TestWithSeedAndClock(t *testing.T) {
	gate := func(seed uint64) time.Duration {
		clock := clockwork.NewFakeClock()
		l := limiter(t, adaptive.Config{}, adaptive.WithClock(clock), adaptive.WithSeed(seed))
		l.Learn(t.Context(), clock.Now(), hitAfter(time.Minute))
		assert.Contains(t, l.Explain(), "the gate opens in 1m")
		return l.View().GateUntil.Sub(clock.Now())
	}
	assert.Equal(t, gate(1), gate(1))
	assert.NotEqual(t, gate(1), gate(2))
}

func TestAFakeClockDrivesTheGate(t *testing.T) {
	clock := clockwork.NewFakeClock()
	l := limiter(t, adaptive.Config{}, adaptive.WithClock(clock))
	fn, calls := refusedOnce(time.Hour / 12)
	done := make(chan error)
	go func() { done <- do(t.Context(), l, fn) }()
	require.NoError(t, clock.BlockUntilContext(t.Context(), 2)) // the gate's timer and that of MaxWait
	assert.Equal(t, int64(1), calls.Load())
	clock.Advance(6 * time.Minute)
	require.NoError(t, <-done)
	assert.Equal(t, int64(2), calls.Load())
}

func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		call := func(l *adaptive.Limiter, fn func(context.Context) error) {
			wg.Go(func() { _ = do(t.Context(), l, fn) })
			synctest.Wait()
		}
		c := capped(2)
		l := limiter(t, c)
		assert.Equal(t, "0 in flight of 2, 0 waiting: nothing holds it back", l.Explain())
		call(l, ok(time.Second))
		assert.Equal(t, "1 in flight of 2, 0 waiting: nothing holds it back", l.Explain())
		call(l, ok(time.Second))
		call(l, ok(time.Second))
		assert.Equal(t, "2 in flight of 2, 1 waiting: held back by the learnt concurrency", l.Explain())
		wg.Wait()

		l.Learn(t.Context(), time.Now(), adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Nanosecond})
		time.Sleep(time.Nanosecond)
		call(l, ok(time.Second))
		assert.Equal(t, "1 in flight of 1, 0 waiting: nothing holds it back", l.Explain())
		call(l, ok(0))
		assert.Equal(t, "1 in flight of 1, 1 waiting: held back by the learnt concurrency", l.Explain())
		l.Learn(t.Context(), time.Now(), hitAfter(time.Minute))
		time.Sleep(30 * time.Second)
		assert.Regexp(t, `^0 in flight of 1, 1 waiting: the gate opens in 3[0-6]\.?\d*s$`, l.Explain())
		l.Throttle().PauseUntil(time.Now().Add(90 * time.Second))
		assert.Equal(t, "0 in flight of 1, 1 waiting: paused for another 1m30s", l.Explain())
		wg.Wait()
		l.Learn(t.Context(), time.Now(), adaptive.Feedback{Verdict: adaptive.Terminal, Err: statusError(402)})
		assert.Equal(t, `0 in flight of 1, 0 waiting: closed, adaptive: quota exhausted: limiter "api": answer 402`, l.Explain())

		c.Limits = throttle.Limits{Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(1, time.Second)}}
		l = limiter(t, c)
		call(l, ok(0))
		call(l, ok(0))
		assert.Equal(t, "0 in flight of 1, 1 waiting: held back by 1/s for another 1s", l.Explain())
		wg.Wait()

		assert.Equal(t, "0 in flight, 0 waiting: nothing holds it back", limiter(t, adaptive.Config{Law: unbounded{}}).Explain())
		c.Law = unbounded{}
		assert.Equal(t, "0 in flight of 1, 0 waiting: nothing holds it back", limiter(t, c).Explain())
	})
}

// unbounded learns nothing and holds nobody back.
type unbounded struct{}

func (u unbounded) Start(time.Time, uint64) (adaptive.State, error)         { return u, nil }
func (unbounded) Admit(time.Time, throttle.Cost, int) time.Duration         { return 0 }
func (unbounded) Slack(time.Time)                                           {}
func (unbounded) OnSend(time.Time, throttle.Sent)                           {}
func (unbounded) OnResult(time.Time, throttle.Sent, int, adaptive.Feedback) {}
func (unbounded) OnSignal(time.Time, *adaptive.RateLimitHit)                {}
func (unbounded) View() adaptive.View                                       { return adaptive.View{} }
