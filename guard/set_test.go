package guard_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

func TestSetUnderLoadLosesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, calls = 40, 50
		l := made(t, capped(3))
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
			c := []guard.Policy{
				capped(1), capped(30),
				{Limits: window},
				{Limits: throttle.Limits{Concurrency: 2}},
				{Law: adaptive.AIMD{}, Limits: window, MaxWait: time.Hour},
				{},
			}[i%6]
			require.NoError(t, l.Set(c))
		}
		wg.Wait()
		assert.Equal(t, int64(workers*calls), served.total.Load())
		s := l.Stats()
		assert.Zero(t, s.InFlight+s.Waiting, "a permit or a waiter leaked")
	})
}

func TestSetOfTheConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		with := func(n int) guard.Policy {
			return guard.Policy{Law: unbounded{}, Limits: throttle.Limits{Concurrency: n}}
		}
		l := made(t, with(4))
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

		require.NoError(t, l.Set(with(10)))
		synctest.Wait()
		assert.Equal(t, int64(10), running.now.Load(), "waiting calls are sent at once")

		require.NoError(t, l.Set(with(2)))
		synctest.Wait()
		assert.Equal(t, int64(10), running.now.Load(), "calls in flight go on")
		time.Sleep(time.Second + time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, int64(2), running.now.Load())
		wg.Wait()
		assert.Equal(t, int64(10), running.most.Load())
	})
}

func TestSetKeepsTheHistoryOfTheWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := perMinute(t, 50)
		assert.Zero(t, waits(t, l, 50))
		for _, law := range []adaptive.Law{nil, adaptive.AIMD{Initial: 150, Max: 150}} {
			require.NoError(t, l.Set(guard.Policy{
				Law: law, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(51, time.Minute).Of(throttle.Tokens)}},
			}))
		}
		time.Sleep(2 * time.Second)
		assert.Zero(t, waits(t, l, 1))
		assert.Equal(t, 58*time.Second, waits(t, l, 1))
	})
}

func TestSetKeepsThePlaceOfARejectedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, capped(1))
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
		require.NoError(t, l.Set(guard.Policy{Law: adaptive.AIMD{Initial: 1, Max: 2}}))
		call("c")
		wg.Wait()
		assert.Equal(t, []string{"a", "a", "b", "c"}, order)
	})
}

func TestSetFailsOnlyWhatNeverFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := func(n int64) guard.Policy {
			return guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(n, time.Minute).Of(throttle.Tokens)}}}
		}
		l := made(t, tokens(100))
		var wg sync.WaitGroup
		require.NoError(t, l.Do(t.Context(), throttle.Cost{Tokens: 100}, ok(0)))
		for n, want := range map[int64]error{90: throttle.ErrCost, 40: nil} {
			wg.Go(func() { assert.ErrorIs(t, l.Do(t.Context(), throttle.Cost{Tokens: n}, ok(0)), want) })
		}
		synctest.Wait()
		require.NoError(t, l.Set(tokens(50)))
		wg.Wait()
	})
}

func TestSetReportsEveryProblemAndChangesNothing(t *testing.T) {
	c := guard.Policy{Name: "api", Law: adaptive.AIMD{Initial: 3}, Limits: throttle.Limits{Concurrency: 7}}
	var seen []event.Event
	l := made(t, observed(c, event.Func(func(e event.Event) { seen = append(seen, e) })))
	l.Learn(time.Now(), of(adaptive.OK))
	err := l.Set(guard.Policy{
		Name: "other", MaxWait: -1, Law: adaptive.AIMD{Backoff: 2},
		Limits: throttle.Limits{Concurrency: -1, Windows: []throttle.Window{throttle.Sliding(5, time.Second)}},
	})
	for _, problem := range []string{
		`guard "api": Name: "api" cannot become "other": leave it empty, or make another guard`,
		`guard "api": Limits: throttle: Concurrency: -1 is negative: use 0 for unbounded, or at least 1`,
		`guard "api": MaxWait: -1ns is negative: use 0 for the default`,
		`guard "api": Law: adaptive: AIMD: Backoff: 2 is not between 0 and 1`,
	} {
		assert.ErrorContains(t, err, problem)
	}
	assert.Equal(t, c.Limits, l.Throttle().Limits())
	assert.Equal(t, 3, l.Stats().View.Concurrency)
	assert.Empty(t, seen)

	c.Name, c.Limits.Concurrency = "", 9
	require.NoError(t, l.Set(c))
	assert.Equal(t, "api", l.Name())
	require.Len(t, seen, 1)
	assert.Equal(t, event.LimiterChanged, seen[0].Kind)
	assert.Equal(t, "9 concurrent", seen[0].Reason)
	assert.Equal(t, "api", seen[0].Source)
}

func TestSetLeavesAClosedGuardClosed(t *testing.T) {
	l := made(t, capped(2))
	l.Learn(time.Now(), of(adaptive.Terminal))
	require.NoError(t, l.Set(guard.Policy{}))
	require.ErrorIs(t, do(t.Context(), l, ok(0)), adaptive.ErrQuotaExhausted)
	require.NoError(t, l.Reset())
	assert.NoError(t, do(t.Context(), l, ok(0)))
}

// What a guard cannot change is an error that names the field, not silence.
func TestSetOfWhatCannotChange(t *testing.T) {
	p := guard.Policy{
		Name: "api", Breaker: &breaker.Config{Failures: 3}, Observer: &watcher{}, Clock: clockwork.NewFakeClock(),
	}
	l := made(t, p)
	require.NoError(t, l.Set(p), "equal values")
	require.NoError(t, l.Set(guard.Policy{Breaker: &breaker.Config{Failures: 3}}))
	for field, change := range map[string]guard.Policy{
		"Breaker":  {Breaker: &breaker.Config{Failures: 1}},
		"Observer": {Observer: &watcher{}},
		"Clock":    {Clock: clockwork.NewFakeClock()},
	} {
		var wrong *fault.FieldError
		require.ErrorAs(t, l.Set(change), &wrong, field)
		assert.Equal(t, field, wrong.Field)
	}
}

type watcher struct{ seen int }

func (w *watcher) Observe(event.Event) { w.seen++ }
