package adaptive_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

func TestDoReturnsWhatTheCallReturns(t *testing.T) {
	l := limiter(t, adaptive.Config{})
	require.NoError(t, do(t.Context(), l, ok(0)))
	for _, err := range []error{io.EOF, statusError(400), statusError(500)} {
		calls := 0
		assert.Equal(t, err, do(t.Context(), l, func(context.Context) error { calls++; return err }))
		assert.Equal(t, 1, calls, "retrying is not the limiter's business")
	}
	assert.Zero(t, l.Throttle().Stats().InFlight)
}

func TestTheCallSeesItsContext(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	err := do(ctx, limiter(t, adaptive.Config{}), func(ctx context.Context) error {
		assert.Equal(t, "value", ctx.Value(key{}))
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestDoWithAnEndedContextDoesNotCall(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.EOF)
	err := do(ctx, limiter(t, adaptive.Config{}), func(context.Context) error { panic("called") })
	assert.ErrorIs(t, err, io.EOF)
}

func TestACostThatNeverFitsIsUnsent(t *testing.T) {
	l := limiter(t, adaptive.Config{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(5, time.Second)}}})
	err := l.Do(t.Context(), throttle.Cost{Requests: 6}, func(context.Context) error { panic("called") })
	var cost *throttle.CostError
	require.ErrorAs(t, err, &cost)
	assert.Equal(t, "limiter", cost.Limiter)
}

func TestAHitGoesAgainAfterRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{})
		fn, calls := refusedOnce(3 * time.Second)
		began := time.Now()
		require.NoError(t, do(t.Context(), l, fn))
		assertJittered(t, 3*time.Second, time.Since(began))
		assert.Equal(t, int64(2), calls.Load())
		assert.Equal(t, int64(1), l.View().Hits)
	})
}

// The item fails with its own error, everybody else waits at the gate.
func TestAFinalRefusalIsHeardButNotSentAgain(t *testing.T) {
	for _, v := range []adaptive.Verdict{adaptive.Hit, adaptive.Overloaded} {
		synctest.Test(t, func(t *testing.T) {
			for _, law := range []adaptive.Law{adaptive.AIMD{Initial: 8}, adaptive.Measured{Initial: 8}} {
				l := limiter(t, adaptive.Config{Law: law, Detector: func(error) adaptive.Feedback {
					return adaptive.Feedback{Verdict: v, RetryAfter: 30 * time.Second, Final: true}
				}})
				began, calls := time.Now(), 0
				assert.Equal(t, io.EOF, do(t.Context(), l, func(context.Context) error { calls++; return io.EOF }))
				assert.Equal(t, 1, calls)
				assert.Equal(t, began, time.Now())
				assert.Equal(t, int64(1), l.View().Hits)
				if _, simple := law.(adaptive.AIMD); simple { // Measured makes less of one refusal
					assert.Less(t, l.View().Concurrency, 8)
				}
				require.NoError(t, do(t.Context(), l, ok(0)))
				assertJittered(t, 30*time.Second, time.Since(began))
			}
		})
	}
}

// A call around the one that was refused passes the error on: it is heard once.
func TestAFinalRefusalInsideIsHeardOnce(t *testing.T) {
	l := limiter(t, adaptive.Config{Law: adaptive.AIMD{Initial: 8}})
	final := answered(429, "X-Should-Retry", "false")
	assert.Equal(t, final, do(t.Context(), l, func(ctx context.Context) error {
		return do(ctx, l, func(context.Context) error { return final })
	}))
	assert.Equal(t, int64(1), l.View().Hits)
	assert.Equal(t, 4, l.View().Concurrency)
	assert.Zero(t, l.Throttle().Stats().InFlight)
}

// Many final refusals shrink the window, where OK would let it grow.
func TestFinalRefusalsDoNotGrowTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{Law: adaptive.AIMD{}})
		final := answered(429, "X-Should-Retry", "false", "Retry-After", "30")
		began := time.Now()
		for range 20 {
			assert.Equal(t, final, do(t.Context(), l, func(context.Context) error { return final }))
		}
		assert.Equal(t, 1, l.View().Concurrency)
		assert.GreaterOrEqual(t, time.Since(began), 19*30*time.Second)
	})
}

// For longer than anybody waits the limiter closes for the others.
func TestAFinalRefusalForLongClosesTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{})
		final := answered(429, "X-Should-Retry", "false", "Retry-After", "3600")
		assert.Equal(t, final, do(t.Context(), l, func(context.Context) error { return final }))
		require.ErrorAs(t, do(t.Context(), l, ok(0)), new(*adaptive.RateLimitHit))
	})
}

func TestOverloadedGoesAgainToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, began := 0, time.Now()
		require.NoError(t, do(t.Context(), limiter(t, adaptive.Config{}), func(context.Context) error {
			if calls++; calls < 3 {
				return statusError(529)
			}
			return nil
		}))
		assertJittered(t, 1500*time.Millisecond, time.Since(began), "half a second, then a second")
	})
}

// A refusal shuts the gate for calls that were not refused themselves.
func TestTheGateHoldsEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{})
		began := time.Now()
		var wg sync.WaitGroup
		fn, _ := refusedOnce(10 * time.Second)
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, fn)) })
		synctest.Wait()
		require.NoError(t, do(t.Context(), l, ok(0)))
		assertJittered(t, 10*time.Second, time.Since(began))
		wg.Wait()
	})
}

func TestWaitingAtTheGateHoldsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(1))
		fn, _ := refusedOnce(time.Minute)
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, do(t.Context(), l, fn)) })
		time.Sleep(time.Second)
		assert.Zero(t, l.Throttle().Stats().InFlight)
		assert.Equal(t, 1, l.Throttle().Stats().Waiting)
		wg.Wait()
	})
}

// Two calls are out; the second is refused first. Both go again in the order
// of their first admission, and before those who came meanwhile.
func TestARefusedCallKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(2))
		var mu sync.Mutex
		var order []string
		call := func(name string, takes time.Duration, refusals int) func() {
			return func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					mu.Lock()
					order = append(order, name)
					refused := refusals > 0
					refusals--
					mu.Unlock()
					time.Sleep(takes)
					if refused {
						return &adaptive.RateLimitHit{RetryAfter: time.Minute}
					}
					return nil
				}))
			}
		}
		var wg sync.WaitGroup
		for _, f := range []func(){
			call("a", 2*time.Second, 2), call("b", time.Second, 1), call("c", time.Second, 0), call("d", time.Second, 0),
		} {
			wg.Go(f)
			synctest.Wait()
		}
		wg.Wait()
		assert.Equal(t, []string{"a", "b", "a", "a", "b", "c", "d"}, order)
	})
}

func TestMaxWaitEndsWithTheHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := capped(5)
		c.MaxWait = 8 * time.Second
		calls, began := 0, time.Now()
		err := do(t.Context(), limiter(t, c), func(context.Context) error {
			calls++
			time.Sleep(time.Second)
			return &adaptive.RateLimitHit{RetryAfter: 5 * time.Second, Kind: adaptive.KindTokens, Source: "test"}
		})
		hit, isHit := err.(*adaptive.RateLimitHit) //nolint:errorlint // it is the hit itself
		require.True(t, isHit, "%v", err)
		assert.Equal(t, 9*time.Second, time.Since(began), "counted from the first refusal")
		assert.Equal(t, 2, calls)
		assert.Equal(t, "api", hit.Scope)
		assert.Equal(t, adaptive.KindTokens, hit.Kind)
		assert.Equal(t, 5*time.Second, hit.RetryAfter)
		assert.Equal(t, "test", hit.Source)
		assertJittered(t, 5*time.Second, hit.SentAt.Sub(began)-time.Second, "the call that was refused last")
		assert.EqualError(t, err, `adaptive: rate limit hit on "api" (tokens), retry after 5s`, "what user code said is not said twice")
	})
}

// A call that is slow enough to use up MaxWait does not wait at all.
func TestMaxWaitCountsTheCallsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := capped(5)
		c.MaxWait = 5 * time.Second
		began := time.Now()
		err := do(t.Context(), limiter(t, c), func(context.Context) error {
			time.Sleep(10 * time.Second)
			return &adaptive.RateLimitHit{RetryAfter: time.Second}
		})
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, err, &hit)
		assertJittered(t, 21*time.Second, time.Since(began)) // 10 s, 1 s at the gate, 10 s
	})
}

// Even where no gate would hold the call back.
func TestAfterMaxWaitNobodyGoesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := do(t.Context(), limiter(t, adaptive.Config{Law: unbounded{}, MaxWait: 5 * time.Second}), func(context.Context) error {
			calls++
			time.Sleep(10 * time.Second)
			return &adaptive.RateLimitHit{}
		})
		require.Error(t, err)
		assert.Equal(t, 2, calls)
	})
}

func TestALongRetryAfterIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{})
		began := time.Now()
		err := do(t.Context(), l, func(context.Context) error {
			return &adaptive.RateLimitHit{RetryAfter: 10*time.Minute + 1}
		})
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, err, &hit)
		assert.Zero(t, time.Since(began))
		assertJittered(t, 10*time.Minute, l.View().GateUntil.Sub(began), "the others have to wait")

		l = limiter(t, adaptive.Config{})
		fn, _ := refusedOnce(10 * time.Minute)
		require.NoError(t, do(t.Context(), l, fn), "ten minutes are waited out")
	})
}

func TestALongRetryAfterClosesTheKeyForThatLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(1))
		var queued, sent atomic.Int64
		call := func(fn func(context.Context) error) error {
			return do(t.Context(), l, func(ctx context.Context) error {
				sent.Add(1)
				return fn(ctx)
			})
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = call(func(context.Context) error {
				time.Sleep(time.Second)
				return &adaptive.RateLimitHit{RetryAfter: time.Hour}
			})
		})
		synctest.Wait()
		for range 5 {
			wg.Go(func() {
				var hit *adaptive.RateLimitHit
				if errors.As(call(func(context.Context) error { return nil }), &hit) && hit.RetryAfter == time.Hour {
					queued.Add(1)
				}
			})
		}
		wg.Wait()
		var hit *adaptive.RateLimitHit
		require.ErrorAs(t, call(func(context.Context) error { return nil }), &hit, "a newcomer")
		assert.Equal(t, int64(5), queued.Load(), "those who waited")
		assert.Equal(t, int64(1), sent.Load(), "nobody was sent after the refusal")

		time.Sleep(2 * time.Hour)
		require.NoError(t, call(func(context.Context) error { return nil }), "it opens again by itself")
	})
}

func TestAContextThatEndsAtTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{})
		stop := errors.New("stopped by the user")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, stop)
		defer cancel()
		began := time.Now()
		fn, calls := refusedOnce(time.Minute)
		err := do(ctx, l, fn)
		var hit *adaptive.RateLimitHit
		assert.ErrorIs(t, err, stop)
		require.ErrorAs(t, err, &hit)
		assert.Equal(t, time.Minute, hit.RetryAfter)
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.Equal(t, int64(1), calls.Load())
		assert.Zero(t, l.Throttle().Stats().Waiting)
	})
}

func TestAContextThatEndedDuringTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, takes := range []time.Duration{0, time.Hour} { // the second uses up MaxWait as well
			ctx, cancel := context.WithCancelCause(t.Context())
			calls := 0
			err := do(ctx, limiter(t, adaptive.Config{Law: unbounded{}}), func(context.Context) error {
				if calls++; calls == 2 || takes == 0 {
					cancel(io.ErrUnexpectedEOF)
				}
				time.Sleep(takes)
				return statusError(429)
			})
			var hit *adaptive.RateLimitHit
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
			assert.ErrorIs(t, err, statusError(429))
			assert.ErrorAs(t, err, &hit)
		}
	})
}

func TestAPanicEndsThePermit(t *testing.T) {
	l := limiter(t, capped(1))
	assert.PanicsWithValue(t, "fn", func() { _ = do(t.Context(), l, func(context.Context) error { panic("fn") }) })
	assert.Zero(t, l.Throttle().Stats().InFlight)
	require.NoError(t, do(t.Context(), l, ok(0)))
}

func TestGoexitEndsThePermit(t *testing.T) {
	l := limiter(t, capped(1))
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = do(t.Context(), l, func(context.Context) error {
			runtime.Goexit()
			return nil
		})
	})
	wg.Wait()
	assert.Zero(t, l.Throttle().Stats().InFlight)
	assert.Zero(t, l.View().Hits)
}

func TestAUsedUpQuotaClosesTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(1))
		var wg sync.WaitGroup
		var called, unsent atomic.Int64
		quota := &sdkError{StatusCode: 429, Code: "insufficient_quota", message: "You exceeded your current quota"}
		wg.Go(func() {
			err := do(t.Context(), l, func(context.Context) error {
				time.Sleep(time.Second)
				return quota
			})
			assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
			assert.ErrorIs(t, err, quota)
		})
		synctest.Wait()
		for range 20 {
			wg.Go(func() {
				err := do(t.Context(), l, func(context.Context) error { called.Add(1); return nil })
				if assert.ErrorIs(t, err, adaptive.ErrQuotaExhausted) {
					unsent.Add(1)
				}
				assert.ErrorIs(t, err, quota, "the provider's words")
			})
		}
		wg.Wait()
		assert.Zero(t, called.Load(), "nobody slips through while the limiter closes")
		assert.Equal(t, int64(20), unsent.Load())
		assert.ErrorIs(t, do(t.Context(), l, ok(0)), adaptive.ErrQuotaExhausted)

		require.NoError(t, l.Reset())
		assert.NoError(t, do(t.Context(), l, ok(0)))
	})
}

func TestARefusedCallThatWaitsHearsOfTheClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(2))
		var wg sync.WaitGroup
		wg.Go(func() {
			assert.ErrorIs(t, do(t.Context(), l, func(context.Context) error {
				time.Sleep(2 * time.Second)
				return statusError(402)
			}), adaptive.ErrQuotaExhausted)
		})
		synctest.Wait()
		fn, calls := refusedOnce(time.Minute)
		wg.Go(func() {
			assert.ErrorIs(t, do(t.Context(), l, fn), adaptive.ErrQuotaExhausted)
			assert.Equal(t, int64(1), calls.Load())
		})
		wg.Wait()
	})
}

// The law hears of a call before anybody else is let go: two slots are not
// enough for two calls once one of them was refused.
func TestTheLawHearsBeforeTheNextGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, capped(2))
		g := &gauge{}
		var wg sync.WaitGroup
		var first atomic.Bool
		for range 20 {
			wg.Go(func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) error {
					g.run(time.Second)
					if first.CompareAndSwap(false, true) {
						g.most.Store(0)
						return statusError(429)
					}
					return nil
				}))
			})
		}
		time.Sleep(5 * time.Second)
		assert.Equal(t, 1, l.View().Concurrency)
		assert.LessOrEqual(t, g.most.Load(), int64(1))
		wg.Wait()
		assert.Equal(t, int64(21), g.total.Load())
	})
}

func TestTheUsersLimitsAreHardCaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, adaptive.Config{
			Limits: throttle.Limits{Concurrency: 3},
			Law:    adaptive.AIMD{Initial: 20, RecoveryThreshold: 1},
		})
		g := &gauge{}
		var wg sync.WaitGroup
		for range 60 {
			wg.Go(func() {
				assert.NoError(t, do(t.Context(), l, func(context.Context) error { g.run(time.Second); return nil }))
			})
		}
		wg.Wait()
		assert.Equal(t, int64(3), g.most.Load())
	})
}

func TestAnInvalidConfigNamesAllFields(t *testing.T) {
	_, err := adaptive.New(adaptive.Config{
		Name: "api", MaxWait: -1, Law: adaptive.AIMD{Min: -1, Backoff: 2},
		Limits: throttle.Limits{Concurrency: -1, Windows: []throttle.Window{{}}},
	})
	assert.Equal(t, []string{"MaxWait", "Min", "Backoff", "Concurrency", "Windows[0]"}, fieldsOf(err))
	assert.ErrorContains(t, err, "adaptive: api: MaxWait: -1ns is negative")
}

// brokenLaw starts once.
type brokenLaw struct{ started *bool }

func (b brokenLaw) Start(now time.Time, seed uint64) (adaptive.State, error) {
	if *b.started {
		return nil, io.EOF
	}
	*b.started = true
	return adaptive.AIMD{}.Start(now, seed)
}

func TestAFailedResetChangesNothing(t *testing.T) {
	l := limiter(t, adaptive.Config{Law: brokenLaw{new(bool)}})
	l.Learn(t.Context(), time.Now(), of(adaptive.Hit))
	before := l.View()
	require.ErrorIs(t, l.Reset(), io.EOF)
	assert.Equal(t, before, l.View())
	assert.Equal(t, "limiter", l.Name())
}
