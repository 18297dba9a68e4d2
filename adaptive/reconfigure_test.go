package adaptive_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/throttle"
)

func TestReconfigureUnderLoadDropsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, calls = 40, 50
		l := limiter(t, capped(3))
		var wg sync.WaitGroup
		var served gauge
		for i := range workers {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), 1))
				for range calls {
					tries := 0
					assert.NoError(t, do(t.Context(), l, func(context.Context) error {
						time.Sleep(time.Duration(rnd.IntN(20)) * time.Millisecond)
						if tries++; tries == 1 && rnd.IntN(10) == 0 {
							return &adaptive.RateLimitHit{RetryAfter: 5 * time.Millisecond}
						}
						return nil
					}))
					served.total.Add(1)
				}
			})
		}
		window := throttle.Limits{Windows: []throttle.Window{throttle.Sliding(40, 100*time.Millisecond)}}
		for i := range 200 {
			time.Sleep(7 * time.Millisecond)
			c := []adaptive.Config{
				capped(1), capped(30),
				{Limits: window},
				{Limits: throttle.Limits{Concurrency: 2}},
				{Law: adaptive.AIMD{}, Limits: window, MaxWait: time.Hour},
				{},
			}[i%6]
			require.NoError(t, l.Reconfigure(c))
		}
		wg.Wait()
		assert.Equal(t, int64(workers*calls), served.total.Load())
		s := l.Throttle().Stats()
		assert.Zero(t, s.InFlight+s.Waiting, "a permit or a waiter leaked")
	})
}

func TestReconfigureOfTheConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		with := func(n int) adaptive.Config {
			return adaptive.Config{Law: unbounded{}, Limits: throttle.Limits{Concurrency: n}}
		}
		l := limiter(t, with(4))
		var wg sync.WaitGroup
		var running gauge
		for range 16 {
			wg.Go(func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					running.run(time.Second)
					return nil
				}))
			})
		}
		synctest.Wait()
		assert.Equal(t, int64(4), running.now.Load())

		require.NoError(t, l.Reconfigure(with(10)))
		synctest.Wait()
		assert.Equal(t, int64(10), running.now.Load(), "those who wait go at once")

		require.NoError(t, l.Reconfigure(with(2)))
		synctest.Wait()
		assert.Equal(t, int64(10), running.now.Load(), "those who run go on")
		time.Sleep(time.Second + time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, int64(2), running.now.Load())
		wg.Wait()
		assert.Equal(t, int64(10), running.most.Load())
	})
}

func TestReconfigureKeepsTheHistoryOfTheWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := perMinute(t, 50)
		assert.Zero(t, waits(t, l, 50))
		for _, law := range []adaptive.Law{nil, adaptive.AIMD{Initial: 150, Max: 150}} {
			require.NoError(t, l.Reconfigure(adaptive.Config{
				Law: law, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(51, time.Minute).Of(throttle.Tokens)}},
			}))
		}
		time.Sleep(2 * time.Second)
		assert.Zero(t, waits(t, l, 1))
		assert.Equal(t, 58*time.Second, waits(t, l, 1))
	})
}

func TestReconfigureKeepsWhatAnUnchangedLawHasLearnt(t *testing.T) {
	spelt := adaptive.Measured{
		Initial: 4, Max: 200,
		Prior: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(3, 5), throttle.Fixed(9, time.Hour, time.Time{})}},
	}
	short := adaptive.Measured{Prior: throttle.Limits{Windows: []throttle.Window{
		throttle.Bucket(3, 5), throttle.Fixed(9, time.Hour, time.Time{}),
	}}}
	concurrent := func(n int) adaptive.Config { return adaptive.Config{Limits: throttle.Limits{Concurrency: n}} }
	withLaw := func(law adaptive.Law) adaptive.Config { return adaptive.Config{Law: law} }
	for about, c := range map[string]struct {
		from, to adaptive.Config
		kept     bool
	}{
		"equal":                       {capped(8), capped(8), true},
		"other limits":                {capped(8), adaptive.Config{Law: adaptive.AIMD{Initial: 8, Max: 8}, Limits: throttle.Limits{Concurrency: 5}}, true},
		"defaults written down":       {withLaw(adaptive.AIMD{}), withLaw(adaptive.AIMD{Min: 1, Initial: 5, Max: 20, Backoff: 0.5}), true},
		"defaults taken away":         {withLaw(spelt), withLaw(short), true},
		"another field":               {capped(8), capped(9), false},
		"another law":                 {capped(8), withLaw(adaptive.Measured{}), false},
		"another prior":               {withLaw(spelt), withLaw(adaptive.Measured{}), false},
		"no law, other concurrency":   {concurrent(8), concurrent(100), true},
		"no law, beyond the most":     {concurrent(8), concurrent(201), false},
		"a law, that of nobody's law": {concurrent(8), withLaw(adaptive.Measured{Initial: 8}), true},
		"a law where there was none":  {concurrent(8), withLaw(adaptive.AIMD{}), false},
		"a law of the user's":         {withLaw(funcLaw{}), withLaw(funcLaw{}), true},
		"one with a function":         {withLaw(funcLaw{func() {}}), withLaw(funcLaw{func() {}}), false},
	} {
		t.Run(about, func(t *testing.T) {
			l := limiter(t, c.from)
			l.Learn(t.Context(), time.Now().Add(-time.Second), hitAfter(time.Minute))
			before := l.View()
			require.Equal(t, int64(1), before.Hits)
			require.NoError(t, l.Reconfigure(c.to))
			after := l.View()
			assert.Equal(t, before.GateUntil, after.GateUntil, "the gate stays")
			if c.kept {
				assert.Equal(t, int64(1), after.Hits)
				assert.Equal(t, before, after)
			} else {
				assert.Zero(t, after.Hits)
				assert.Equal(t, limiter(t, c.to).View().Concurrency, after.Concurrency)
			}
			assert.Equal(t, c.to.Limits, l.Throttle().Limits())
		})
	}
}

// funcLaw is a law of a type that cannot be compared.
type funcLaw struct{ f func() }

func (l funcLaw) Start(now time.Time, seed uint64) (adaptive.State, error) {
	return adaptive.AIMD{}.Start(now, seed)
}

// Reset and Restore begin with the law of the last configuration.
func TestReconfigureIsWhatAResetBeginsWith(t *testing.T) {
	l := limiter(t, capped(8))
	require.NoError(t, l.Reconfigure(capped(16)))
	l.Learn(t.Context(), time.Now(), hitAfter(time.Nanosecond))
	require.Equal(t, 8, l.View().Concurrency)
	saved, err := l.Save()
	require.NoError(t, err)
	require.NoError(t, l.Reset())
	assert.Equal(t, 16, l.View().Concurrency)
	require.NoError(t, l.Restore(saved))
	assert.Equal(t, 8, l.View().Concurrency)
	require.NoError(t, l.Reconfigure(adaptive.Config{Law: unbounded{}}))
	assert.ErrorIs(t, l.Restore(saved), errors.ErrUnsupported)
}

// Eight calls are refused one after another, over a change in the middle.
func TestReconfigureInMidEpochCutsOnce(t *testing.T) {
	for about, to := range map[string]adaptive.Config{"same law": capped(8), "another law": capped(16)} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limiter(t, capped(8))
				to.Limits = throttle.Limits{Concurrency: 10}
				var wg sync.WaitGroup
				for i := range 8 {
					wg.Go(func() {
						calls := 0
						assert.NoError(t, do(t.Context(), l, func(context.Context) error {
							if calls++; calls == 1 {
								time.Sleep(time.Second + time.Duration(i))
								return &adaptive.RateLimitHit{RetryAfter: time.Minute}
							}
							return nil
						}))
					})
				}
				time.Sleep(time.Second + 3) // some of them are back
				synctest.Wait()
				require.Equal(t, 4, l.View().Concurrency)
				gate := l.View().GateUntil
				require.NoError(t, l.Reconfigure(to))
				time.Sleep(time.Millisecond)
				assert.False(t, l.View().GateUntil.Before(gate))
				if about == "same law" {
					assert.Equal(t, 4, l.View().Concurrency)
				} else {
					assert.Equal(t, 8, l.View().Concurrency, "half of 16")
				}
				assert.Equal(t, int64(1), l.View().Cuts)
				assert.Equal(t, 8, l.Throttle().Stats().Waiting)
				wg.Wait()
				s := l.Throttle().Stats()
				assert.Zero(t, s.InFlight+s.Waiting)
				assert.Equal(t, int64(16), s.Admitted)
			})
		})
	}
}

// The limits of one configuration never meet the law of another.
func TestReconfigureIsOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		byLimit := adaptive.Config{Limits: throttle.Limits{Concurrency: 1}, Law: adaptive.AIMD{Initial: 50, Max: 50}}
		byLaw := adaptive.Config{Limits: throttle.Limits{Concurrency: 50}, Law: adaptive.AIMD{Initial: 1, Max: 1}}
		l := limiter(t, byLimit)
		var wg sync.WaitGroup
		var running gauge
		for range 30 {
			wg.Go(func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					running.run(time.Minute)
					return nil
				}))
			})
		}
		for i := range 20 {
			time.Sleep(time.Minute)
			require.NoError(t, l.Reconfigure([]adaptive.Config{byLaw, byLimit}[i%2]))
		}
		wg.Wait()
		assert.Equal(t, int64(1), running.most.Load())
	})
}

// A refused call that was admitted before the change goes again before those who came after it.
func TestReconfigureKeepsThePlaceOfARefusedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(1))
		var wg sync.WaitGroup
		var mu sync.Mutex
		var order []string
		call := func(name string, answers ...error) {
			wg.Go(func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) (err error) {
					mu.Lock()
					order = append(order, name)
					mu.Unlock()
					time.Sleep(time.Second)
					if len(answers) > 0 {
						err, answers = answers[0], answers[1:]
					}
					return err
				}))
			})
			synctest.Wait()
		}
		call("a", &adaptive.RateLimitHit{RetryAfter: time.Second})
		call("b")
		require.NoError(t, l.Reconfigure(adaptive.Config{Law: adaptive.AIMD{Initial: 1, Max: 2}}))
		call("c")
		wg.Wait()
		assert.Equal(t, []string{"a", "a", "b", "c"}, order)
	})
}

func TestReconfigureTurnsAwayOnlyWhatNeverFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := func(n int64) adaptive.Config {
			return adaptive.Config{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(n, time.Minute).Of(throttle.Tokens)}}}
		}
		l := limiter(t, tokens(100))
		var wg sync.WaitGroup
		require.NoError(t, l.Do(t.Context(), throttle.Cost{Tokens: 100}, ok(0)))
		for n, want := range map[int64]error{90: throttle.ErrCost, 40: nil} {
			wg.Go(func() { assert.ErrorIs(t, l.Do(t.Context(), throttle.Cost{Tokens: n}, ok(0)), want) })
		}
		synctest.Wait()
		require.NoError(t, l.Reconfigure(tokens(50)))
		wg.Wait()
	})
}

func TestReconfigureOfDetectorAndMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		odd := errors.New("odd")
		c := capped(4)
		l := limiter(t, c)
		c.MaxWait = time.Second
		c.Detector = func(err error) adaptive.Feedback {
			if errors.Is(err, odd) {
				return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Minute}
			}
			return adaptive.Feedback{}
		}
		assert.Equal(t, odd, do(t.Context(), l, func(context.Context) error { return odd }))
		began := time.Now()
		err := do(t.Context(), l, func(context.Context) error { // in flight over the change
			assert.NoError(t, l.Reconfigure(c))
			return odd
		})
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, err, &hit)
		assert.Equal(t, "api", hit.Scope)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, adaptive.Hit, l.Classify(odd).Verdict)
	})
}

func TestReconfigureReportsEveryProblemAndChangesNothing(t *testing.T) {
	c := adaptive.Config{Name: "api", Law: adaptive.AIMD{Initial: 3}, Limits: throttle.Limits{Concurrency: 7}}
	var told []event.Event
	l := limiter(t, c, adaptive.WithObserver(event.Func(func(e event.Event) { told = append(told, e) })))
	l.Learn(t.Context(), time.Now(), of(adaptive.OK))
	err := l.Reconfigure(adaptive.Config{
		Name: "other", MaxWait: -1, Law: adaptive.AIMD{Backoff: 2},
		Limits: throttle.Limits{Concurrency: -1, Windows: []throttle.Window{throttle.Sliding(5, time.Second)}},
	})
	assert.EqualError(t, err, `adaptive: api: Name: "other" is another than "api": leave it empty, or make another limiter
adaptive: api: MaxWait: -1ns is negative: use 0 for the default of 15m0s
adaptive: api: Law: adaptive: AIMD: Backoff: 2 is not between 0 and 1
adaptive: api: Limits: throttle: Concurrency: -1 is negative: use 0 for unbounded, or at least 1`)
	assert.Equal(t, c.Limits, l.Throttle().Limits())
	assert.Equal(t, 3, l.View().Concurrency)
	assert.Empty(t, told)

	c.Name, c.Limits.Concurrency = "", 9
	require.NoError(t, l.Reconfigure(c))
	assert.Equal(t, "api", l.Name())
	require.Len(t, told, 1)
	assert.Equal(t, event.LimiterChanged, told[0].Kind)
	assert.Equal(t, "9 concurrent", told[0].Reason)
	assert.Equal(t, "api", told[0].Source)
}

func TestReconfigureTellsOutsideOfEveryLock(t *testing.T) {
	var l *adaptive.Limiter
	told := 0
	l = limiter(t, capped(2), adaptive.WithObserver(event.Func(func(event.Event) {
		saved, err := l.Save()
		assert.NoError(t, err)
		assert.NoError(t, l.Restore(saved))
		assert.NoError(t, l.Reset())
		if told++; told == 1 {
			assert.NoError(t, l.Reconfigure(capped(4)))
		}
	})))
	require.NoError(t, l.Reconfigure(capped(3)))
	assert.Equal(t, 2, told)
	assert.Equal(t, 4, l.View().Concurrency)
}

func TestReconfigureLeavesAClosedLimiterClosed(t *testing.T) {
	l := limiter(t, capped(2))
	l.Learn(t.Context(), time.Now(), of(adaptive.Terminal))
	require.NoError(t, l.Reconfigure(adaptive.Config{}))
	require.ErrorIs(t, do(t.Context(), l, ok(0)), adaptive.ErrQuotaExhausted)
	require.NoError(t, l.Reset())
	assert.NoError(t, do(t.Context(), l, ok(0)))
}

// Under the race detector: everything that reads or changes the configuration, at once.
func TestReconfigureIsSafeForConcurrentUse(t *testing.T) {
	l := limiter(t, capped(4))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { assert.NoError(t, l.Reconfigure(capped(1+i))) })
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, ok(0))) })
		wg.Go(func() {
			saved, err := l.Save()
			assert.NoError(t, err)
			assert.NoError(t, l.Restore(saved))
			assert.NoError(t, l.Reset())
			_ = l.Explain() + fmt.Sprint(l.View(), l.Classify(context.Canceled))
		})
	}
	wg.Wait()
}

// Under the race detector: changes of everything, among calls that nest, give up and are refused. Nothing leaks.
func TestReconfigureAmongEverythingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		window := throttle.Sliding(50, 10*time.Millisecond)
		configs := []adaptive.Config{
			{Limits: throttle.Limits{Concurrency: 8, Windows: []throttle.Window{window}}},
			{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(5000, 10), window.Of(throttle.Tokens)}}, Law: adaptive.AIMD{}},
			{Limits: throttle.Limits{Concurrency: 400}, Law: adaptive.AIMD{Initial: 2, Min: 2, Max: 2}},
			{Law: adaptive.Measured{Initial: 3, Max: 10}},
			{},
		}
		l := limiter(t, configs[0], adaptive.WithObserver(event.Func(func(event.Event) {})))
		ctx, cancel := context.WithCancel(t.Context())
		var calls, others sync.WaitGroup
		for i := range 24 {
			calls.Go(func() {
				for n := range 50 {
					ctx, giveUp := context.WithTimeout(t.Context(), []time.Duration{time.Hour, time.Millisecond}[n%5/4])
					err := l.Do(ctx, throttle.Cost{Tokens: int64(n % 20)}, func(ctx context.Context) error {
						if n%7 == 0 {
							return l.Do(ctx, throttle.Cost{Tokens: int64(i)}, ok(time.Millisecond))
						}
						return ok(time.Duration(n) * 10 * time.Microsecond)(ctx)
					})
					giveUp()
					assert.True(t, err == nil || errors.Is(err, context.DeadlineExceeded), "%v", err)
				}
			})
		}
		meanwhile := func(every time.Duration, do func(n int)) {
			others.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					do(n)
					time.Sleep(every)
				}
			})
		}
		meanwhile(300*time.Microsecond, func(n int) { assert.NoError(t, l.Reconfigure(configs[n%len(configs)])) })
		meanwhile(400*time.Microsecond, func(n int) { assert.NoError(t, l.Reconfigure(configs[n*3%len(configs)])) })
		meanwhile(time.Millisecond, func(int) { assert.NoError(t, l.Reset()) })
		meanwhile(800*time.Microsecond, func(n int) { assert.NoError(t, l.Throttle().SetConcurrency(n%20)) })
		meanwhile(700*time.Microsecond, func(int) {
			saved, err := l.Save()
			assert.NoError(t, err)
			if err := l.Restore(saved); err != nil { // it may be another law by now
				assert.ErrorAs(t, err, new(*adaptive.SavedError))
			}
		})
		meanwhile(500*time.Microsecond, func(int) {
			_ = l.Explain() + fmt.Sprint(l.View(), l.Throttle().Stats())
			l.Learn(ctx, time.Now(), of(adaptive.OK))
			if p, err := l.Throttle().TryAcquire(throttle.Cost{}); err == nil {
				p.Cancel()
			}
		})
		calls.Wait()
		cancel()
		others.Wait()
		s := l.Throttle().Stats()
		assert.Zero(t, s.InFlight+s.Waiting)
		require.NoError(t, l.Reconfigure(adaptive.Config{}))
		assert.NoError(t, do(t.Context(), l, ok(0)))
	})
}

// restoring is a law that somebody tries to replace while it restores.
type restoring struct {
	adaptive.AIMD
	meanwhile func()
}

func (r *restoring) Restore(now time.Time, seed uint64, saved []byte) (adaptive.State, error) {
	r.meanwhile()
	return r.AIMD.Restore(now, seed, saved)
}

func TestReconfigureAndRestoreTakeTurns(t *testing.T) {
	law := &restoring{AIMD: adaptive.AIMD{Initial: 3, Max: 3}}
	l := limiter(t, adaptive.Config{Law: law})
	saved, err := l.Save()
	require.NoError(t, err)
	var wg sync.WaitGroup
	var changed atomic.Bool
	law.meanwhile = func() {
		wg.Go(func() {
			assert.NoError(t, l.Reconfigure(adaptive.Config{Law: adaptive.AIMD{Initial: 7}}))
			changed.Store(true)
		})
		for range 1000 {
			runtime.Gosched() // were there no turns, it would be done by now
		}
		assert.False(t, changed.Load())
	}
	require.NoError(t, l.Restore(saved))
	wg.Wait()
	assert.Equal(t, 7, l.View().Concurrency)
}

// However changes and resets overlap, the law that runs in the end is that of the configuration.
func TestReconfigureAndResetTakeTurns(t *testing.T) {
	l := limiter(t, capped(1))
	for range 100 {
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() { assert.NoError(t, l.Reconfigure(capped(2+i))) })
			wg.Go(func() { assert.NoError(t, l.Reset()) })
		}
		wg.Wait()
		runs := l.View().Concurrency
		require.NoError(t, l.Reset())
		require.Equal(t, l.View().Concurrency, runs)
	}
}
