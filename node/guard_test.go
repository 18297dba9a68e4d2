package node_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

func TestGuardIsMadeOnce(t *testing.T) {
	m := node.Map("m", same).WithLimits(concurrency(1))
	guards := make([]*guard.Guard, 16)
	var asking sync.WaitGroup
	for i := range guards {
		asking.Go(func() {
			if i%2 == 0 {
				_, err := m.All(t.Context(), numbers(3))
				assert.NoError(t, err)
			}
			guards[i] = m.Guard()
		})
	}
	asking.Wait()
	for _, g := range guards {
		assert.Same(t, guards[0], g)
	}
	assert.Equal(t, "m", guards[0].Name())
}

func TestLimiterIsSharedBetweenConcurrentRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			defer g.enter()()
			return i, work(ctx, time.Second)
		}).WithParallel(4).WithLimits(concurrency(3))
		var running sync.WaitGroup
		for range 3 {
			running.Go(func() {
				_, err := m.All(t.Context(), numbers(4))
				assert.NoError(t, err)
			})
		}
		began := time.Now()
		running.Wait()
		assert.Equal(t, int64(3), g.most.Load())
		assert.Equal(t, 4*time.Second, time.Since(began), "12 items, 3 at a time")
	})
}

func TestLimiterIsSharedBetweenNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newGuard(t, guard.Policy{Name: "provider", Limits: concurrency(2)})
		var g gauge
		exec := func(ctx context.Context, i int) (int, error) {
			defer g.enter()()
			return i, work(ctx, time.Second)
		}
		a := node.Map("a", exec).WithParallel(4).Within(lim)
		b := node.Map("b", exec).WithParallel(4).Within(lim)
		step := node.Do("step", func(ctx context.Context, _ *state) error {
			defer g.enter()()
			return work(ctx, time.Second)
		}).Within(lim)
		var running sync.WaitGroup
		running.Go(func() {
			_, err := a.All(t.Context(), numbers(5))
			assert.NoError(t, err)
		})
		running.Go(func() {
			_, err := b.All(t.Context(), numbers(4))
			assert.NoError(t, err)
		})
		running.Go(func() {
			_, err := step.Run(t.Context(), &state{})
			assert.NoError(t, err)
		})
		began := time.Now()
		running.Wait()
		assert.Equal(t, int64(2), g.most.Load())
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.Same(t, lim, a.Guard().Learner())
	})
}

// WithLimits are hard limits, in every interval and for every attempt.
func TestWithLimitsIsNeverExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Time
		var calls tally
		m := node.Map("m", func(_ context.Context, i int) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Now())
			if i%5 == 0 && calls.add(i) < 3 {
				return 0, errBoom
			}
			if i%7 == 3 && calls.add(i) == 1 {
				return 0, hit(time.Second)
			}
			return i, nil
		}).WithParallel(8).WithLimits(perMinute(10)).WithRetry(thrice)
		_, err := m.All(t.Context(), numbers(40))
		require.NoError(t, err)
		assert.Greater(t, len(at), 40)
		for i := 10; i < len(at); i++ {
			assert.GreaterOrEqual(t, at[i].Sub(at[i-10]), time.Minute, "call %d", i)
		}
	})
}

func TestAHitIsWaitedOut(t *testing.T) {
	for name, err := range map[string]error{
		"a RateLimitHit":          hit(2 * time.Second),
		"one that does not say":   hit(0),
		"a text":                  errors.New("429: too many requests"),
		"a service that is full":  errors.New("overloaded_error"),
		"joined with other words": errors.Join(errors.New("x"), hit(time.Second)),
	} {
		for _, limits := range []throttle.Limits{{}, concurrency(3)} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var calls tally
					m := node.Map("m", func(_ context.Context, i int) (int, error) {
						if calls.add(i) == 1 && i%2 == 1 {
							return 0, err
						}
						return i, nil
					}).WithParallel(3)
					if limits.Concurrency > 0 {
						m.WithLimits(limits)
					}
					out, failed := m.All(t.Context(), numbers(9))
					require.NoError(t, failed)
					assert.Equal(t, numbers(9), out)
					assert.Equal(t, 13, calls.sum(), "nothing is sent more often than it must be")
				})
			})
		}
	}
}

// Without any limiter configured, the node makes one at the first refusal: no
// item is lost, and a burst of refusals is one cut.
func TestEightHitsAtOnceWithoutALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		began := time.Now()
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			if err := work(ctx, 100*time.Millisecond); err != nil {
				return 0, err
			}
			if calls.add(i) == 1 && i < 8 {
				return 0, hit(5 * time.Second)
			}
			return i, nil
		}).WithParallel(8)
		out, err := m.All(t.Context(), numbers(30))
		require.NoError(t, err)
		assert.Equal(t, numbers(30), out)
		assert.Equal(t, 38, calls.sum())
		assert.Greater(t, time.Since(began), 5*time.Second)
		lim := m.Guard()
		v := lim.Stats().View
		assert.Equal(t, int64(8), v.Hits)
		assert.Equal(t, int64(1), v.Cuts, "they are one epoch")

		before := lim.Stats().Admitted
		_, err = m.All(t.Context(), numbers(30))
		require.NoError(t, err)
		assert.Equal(t, int64(30), lim.Stats().Admitted-before, "the next run goes through it")
	})
}

func TestDetectorDecidesWhatARefusalIs(t *testing.T) {
	errBusy := errors.New("busy")
	detector := func(err error) adaptive.Feedback {
		if errors.Is(err, errBusy) {
			return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second}
		}
		return adaptive.Feedback{}
	}
	for _, limits := range []throttle.Limits{{}, concurrency(3)} {
		synctest.Test(t, func(t *testing.T) {
			var calls tally
			m := node.Map("m", func(_ context.Context, i int) (int, error) {
				if calls.add(i) < 3 {
					return 0, errBusy
				}
				return i, nil
			}).With(guard.Policy{Detector: detector, Limits: limits})
			_, err := m.All(t.Context(), numbers(2))
			require.NoError(t, err)
			assert.Equal(t, 6, calls.sum())
		})
	}
}

func TestResetOfTheGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		m := node.Map("m", func(_ context.Context, i int) (int, error) {
			if calls.add(i) == 1 {
				return 0, hit(time.Millisecond)
			}
			return i, nil
		}).WithLimits(perMinute(10))
		_, err := m.All(t.Context(), numbers(4)) // 8 calls
		require.NoError(t, err)
		lim := m.Guard()
		require.NotZero(t, lim.Stats().View.Cuts)
		require.NotZero(t, lim.Stats().Admitted)

		require.NoError(t, m.Guard().Reset())
		again := m.Guard()
		assert.Same(t, lim, again, "it is never replaced")
		assert.Zero(t, lim.Stats().View.Cuts, "the law is new")
		assert.Zero(t, lim.Stats().Admitted, "and so are the statistics")
		assert.True(t, allows(t, lim, throttle.Cost{Requests: 2}))
		assert.False(t, allows(t, lim, throttle.Cost{}), "but what was sent still counts")
	})
}

func TestCostIsReserved(t *testing.T) {
	m := node.Map("m", same).WithLimits(tokens(100)).
		WithCost(func(i int) throttle.Cost { return throttle.Cost{Tokens: int64(10 * i)} })
	_, err := m.All(t.Context(), []int{1, 2, 3})
	require.NoError(t, err)
	lim := m.Guard()
	assert.Equal(t, int64(40), left(t, lim))
}

func TestUsedSettlesWhatWasReserved(t *testing.T) {
	var calls tally
	m := node.Map("m", func(_ context.Context, i int) (int, error) {
		if i == 3 && calls.add(i) == 1 {
			return 0, errBoom // costs what was reserved: nothing else is known
		}
		return 2 * i, nil
	}).WithLimits(tokens(100)).
		WithCost(func(int) throttle.Cost { return throttle.Cost{Tokens: 20} }).
		WithUsed(func(i, out int) throttle.Cost { return throttle.Cost{Tokens: int64(i + out)} })
	_, err := m.All(t.Context(), []int{1, 2, 3})
	require.ErrorIs(t, err, errBoom)
	lim := m.Guard()
	assert.Equal(t, int64(100-3-6-20), left(t, lim))
}

func TestCostAboveTheWindowFailsThatItemAlone(t *testing.T) {
	var calls tally
	s := &state{}
	b := node.BatchFunc("b", feed(10, 101, 20), func(_ context.Context, i int) (int, error) {
		calls.add(i)
		return i, nil
	}, keep).WithLimits(tokens(100)).WithRetry(thrice).
		WithCost(func(i int) throttle.Cost { return throttle.Cost{Tokens: int64(i)} })
	_, err := b.Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, []node.State{node.Done, node.Failed, node.Done}, states(s.report))
	for res := range s.report.Failed() {
		var cost *throttle.CostError
		require.ErrorAs(t, res.Err, &cost)
		assert.Equal(t, int64(101), cost.Amount)
		assert.Equal(t, int64(100), cost.Max)
		assert.Zero(t, res.Attempts)
	}
	assert.Zero(t, calls.of(101), "unsent")
}

func TestUsedUpQuotaStopsTheOthers(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(3)} {
		t.Run(strconv.Itoa(limits.Concurrency), func(t *testing.T) {
			errQuota := errors.New("insufficient_quota")
			var calls tally
			s := &state{}
			b := node.BatchFunc("b", feed(numbers(20)...), func(_ context.Context, i int) (int, error) {
				calls.add(i)
				if i == 2 {
					return 0, errQuota
				}
				return i, nil
			}, keep).WithRetry(thrice)
			if limits.Concurrency > 0 {
				b.WithLimits(limits)
			}
			_, err := b.Run(t.Context(), s)
			require.ErrorIs(t, err, adaptive.ErrQuotaExhausted)
			assert.Equal(t, 3, calls.sum(), "the others are not sent")
			assert.Equal(t, node.Counts{Total: 20, Done: 2, Pending: 18}, s.report.Counts())
			for res := range s.report.Pending() {
				require.ErrorIs(t, res.Err, adaptive.ErrQuotaExhausted)
				require.ErrorIs(t, res.Err, errQuota, "with what the provider said")
			}
			require.NoError(t, b.Guard().Reset(), "when it has been paid for")
			calls = tally{}
			_, err = b.Run(t.Context(), s)
			require.Error(t, err)
			assert.Positive(t, calls.sum())
		})
	}
}

// What the provider does not accept has not failed, but a run that failures may stop ends with it.
func TestARefusalStopsARunThatFailuresMayStop(t *testing.T) {
	long := &adaptive.RateLimitHit{RetryAfter: time.Hour}
	b := node.Map("b", func(_ context.Context, i int) (int, error) { return i, long }).WithOnError(node.MaxFailures(5))
	_, err := b.All(t.Context(), numbers(1000))
	failed, ok := errors.AsType[*node.BatchError](err)
	require.True(t, ok)
	assert.ErrorIs(t, failed.Stopped, long)
	assert.Zero(t, failed.Counts.Failed)
	assert.Less(t, failed.Counts.Total-failed.Counts.Pending, int64(1000))
	assert.NotErrorAs(t, err, new(*node.TooManyFailuresError))
}

// An error that a batch inside has already judged is not judged again: its
// text, in which the names of nodes appear, means nothing.
func TestErrorOfABatchInsideIsNotJudgedAgain(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(3)} {
		synctest.Test(t, func(t *testing.T) {
			var calls tally
			inner := node.Map("ratelimit prober", func(_ context.Context, i int) (int, error) {
				calls.add(i)
				return 0, errBoom
			})
			outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
				_, err := inner.All(ctx, []int{i})
				return 0, err
			})
			if limits.Concurrency > 0 {
				outer.WithLimits(limits)
			}
			_, err := outer.All(t.Context(), numbers(3))
			require.ErrorIs(t, err, errBoom)
			assert.Equal(t, 3, calls.sum())
		})
	}
}

func TestTimeoutOfANodeWithATellingName(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(3)} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			m := node.Map("rate limit prober", func(ctx context.Context, _ int) (int, error) {
				calls++
				return 0, work(ctx, time.Hour)
			}).WithTimeout(time.Second)
			if limits.Concurrency > 0 {
				m.WithLimits(limits)
			}
			_, err := m.All(t.Context(), numbers(1))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, 1, calls)
		})
	}
}
