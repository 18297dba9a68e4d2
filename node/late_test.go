package node_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// tenAMinute admits ten calls in any minute.
var tenAMinute = throttle.Limits{Windows: []throttle.Window{throttle.Sliding(10, time.Minute)}}

// In 90 seconds twenty items can go: ten at once, ten after a minute. What has
// to wait for two minutes is pending at once, and spends nothing on it.
func TestRunEndsWhenItsDeadlineLeavesNoTime(t *testing.T) {
	for name, parallel := range map[string]int{"one worker": 1, "few": 4, "as the window": 10, "many": 64} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
				defer cancel()
				s := &state{}
				var events log
				b := node.BatchFunc("b", feed(numbers(1000)...), same, keep).
					WithParallel(parallel).WithLimits(tenAMinute).WithOnError(node.FailFast()).
					WithRetry(retry.Policy{MaxAttempts: 9}).
					WithFallback(func(context.Context, int, error) (int, error) {
						t.Error("the fallback was asked")
						return 0, nil
					})
				began := time.Now()
				_, err := b.Run(ctx, s)
				assert.Equal(t, time.Minute, time.Since(began), "there is nothing to wait for any more")
				assertTooLate(t, err)
				counts := s.report.Counts()
				assert.Equal(t, int64(20), counts.Done)
				assert.Zero(t, counts.Failed)
				assert.LessOrEqual(t, counts.Total, int64(20+parallel), "the rest was not even taken")
				for res := range s.report.Pending() {
					assertTooLate(t, res.Err)
				}

				b = node.BatchFunc("b", feed(), same, keep).WithParallel(parallel).WithLimits(tenAMinute)
				ctx, cancel = context.WithTimeout(t.Context(), 90*time.Second)
				defer cancel()
				_, err = b.All(ctx, numbers(1000))
				var batch *node.BatchError
				require.ErrorAs(t, err, &batch)
				assert.Equal(t, node.Counts{Total: 1000, Done: 20, Pending: 980}, batch.Counts)
				assertTooLate(t, err)
				assert.ErrorContains(t, err, `stopped: throttle: limiter "b": the earliest admission is in `)
				assert.Zero(t, events.items())
			})
		})
	}
}

func assertTooLate(t *testing.T, err error) {
	t.Helper()
	var late *throttle.DeadlineError
	require.ErrorAs(t, err, &late)
	assert.Equal(t, 30*time.Second, late.Wait-late.Left)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestStreamEndsWhenItsDeadlineLeavesNoTime(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			m := node.Map("m", same).WithParallel(4).WithLimits(tenAMinute)
			if unordered {
				m.Unordered()
			}
			var done, pending int
			var last error
			for res, err := range m.Stream(ctx, (&endless{}).seq) {
				switch {
				case err != nil:
					last = err
				case res.State == node.Done:
					done++
				default:
					pending++
					assert.Equal(t, node.Pending, res.State)
				}
			}
			assertTooLate(t, last)
			assert.Equal(t, 20, done)
			assert.LessOrEqual(t, pending, 4)
		})
	}
}

func TestStepThatCannotBeAdmittedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		step := node.Do("step", func(context.Context, *state) error { calls++; return nil }).
			With(guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Minute)}}}).
			WithRetry(retry.Policy{MaxAttempts: 9}).
			WithFallback(func(context.Context, *state, error) (node.Action, error) {
				t.Error("the fallback was asked")
				return node.Next, nil
			})
		_, err := step.Run(t.Context(), &state{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began := time.Now()
		_, err = step.Run(ctx, &state{})
		assertTooLate(t, err)
		assert.Equal(t, began, time.Now())
		assert.Equal(t, 1, calls)
	})
}

// Items that are running have until the deadline, and the grace period, as
// they would if the intake had gone on.
func TestRunningItemsHaveUntilTheDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		works, cancels time.Duration
		done           int64
		took           time.Duration
	}{
		"done in time":         {25 * time.Second, time.Hour, 2, 25 * time.Second},
		"done in the grace":    {35 * time.Second, time.Hour, 2, 35 * time.Second},
		"after it":             {45 * time.Second, time.Hour, 1, 40 * time.Second},
		"cancelled after that": {45 * time.Second, 5 * time.Second, 1, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for _, nested := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					defer cancel()
					time.AfterFunc(tc.cancels, cancel)
					s := &state{}
					prep := func(context.Context, *state) (iter.Seq2[int, error], error) {
						return func(yield func(int, error) bool) {
							for i := range 9 {
								if i == 2 {
									time.Sleep(time.Second) // the first two are running, or done
								}
								if !yield(i, nil) {
									return
								}
							}
						}, nil
					}
					b := node.BatchFunc("b", prep, func(ctx context.Context, i int) (int, error) {
						if i == 1 {
							return 0, work(ctx, tc.works)
						}
						return 0, nil
					}, keep).WithParallel(2).WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(2, time.Minute)}})
					run := func(ctx context.Context) error { _, err := b.Run(ctx, s); return err }
					if nested {
						inner := run
						outer := node.Map("outer", func(ctx context.Context, _ int) (int, error) { return 0, inner(ctx) }).
							WithLimits(concurrency(1)).WithGrace(10 * time.Second)
						run = func(ctx context.Context) error { _, err := outer.All(ctx, numbers(1)); return err }
					}
					began := time.Now()
					require.Error(t, run(ctx))
					require.ErrorAs(t, s.report.Err(), new(*throttle.DeadlineError))
					assert.Equal(t, tc.took, time.Since(began), "nested: %v", nested)
					assert.Equal(t, tc.done, s.report.Counts().Done)
					assert.Zero(t, s.report.Counts().Failed)
				})
			}
		})
	}
}

// A batch that was stopped early lets what runs in it, batches too, go on.
func TestBatchInsideOneThatWasStoppedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		inner := node.Map("inner", func(ctx context.Context, i int) (int, error) { return i, work(ctx, 40*time.Second) })
		outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
			_, err := inner.All(ctx, []int{i})
			return i, err
		}).WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Minute)}}).WithParallel(2)
		var done, pending int
		for res, err := range outer.Stream(ctx, func(yield func(int, error) bool) {
			_ = yield(0, nil)
			time.Sleep(time.Second) // the first one is running
			_ = yield(1, nil)
		}) {
			switch {
			case err != nil:
				assert.ErrorAs(t, err, new(*throttle.DeadlineError))
			case res.State == node.Done:
				done++
			case res.State == node.Pending:
				pending++
			}
		}
		assert.Equal(t, []int{1, 1}, []int{done, pending})
	})
}

// What limits one item from inside may not limit the others: it is pending,
// and the run goes on.
func TestDeadlineLeavesNoTimeForOneItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := newGuard(t, guard.Policy{Name: "slow", Limits: throttle.Limits{
			Windows: []throttle.Window{throttle.Sliding(1, time.Hour)},
		}})
		s := &state{}
		prep := func(context.Context, *state) (iter.Seq2[int, error], error) { return node.Slice(numbers(6)), nil }
		b := node.BatchFunc("b", prep, func(ctx context.Context, i int) (int, error) {
			if i%2 == 1 {
				return i, work(ctx, time.Second)
			}
			return i, slow.Do(ctx, throttle.Cost{}, func(context.Context) error { return nil })
		}, keep).WithRetry(retry.Policy{}).WithOnError(node.FailFast())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := b.Run(ctx, s)
		require.ErrorAs(t, err, new(*throttle.DeadlineError), "which is why items are missing")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []node.State{node.Done, node.Done, node.Pending, node.Done, node.Pending, node.Done}, states(s.report))
		assert.Equal(t, 1, results(s.report)[2].Attempts)
	})
}

// An attempt has a deadline of its own: not to be admitted before that is the
// failure of the attempt, and of no run.
func TestAttemptThatLeavesNoTimeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newGuard(t, guard.Policy{Name: "slow", Limits: throttle.Limits{
			Windows: []throttle.Window{throttle.Sliding(1, time.Minute)},
		}})
		require.True(t, allows(t, lim, throttle.Cost{}))
		step := node.Do("step", func(context.Context, *state) error { return nil }).Within(lim).
			WithRetry(retry.Policy{MaxAttempts: 9, Initial: time.Hour, Max: time.Hour})
		s := &state{}
		b := node.BatchFunc("b", feed(0), func(ctx context.Context, i int) (int, error) {
			_, err := step.Run(ctx, s)
			return i, err
		}, keep).WithTimeout(10 * time.Second).WithRetry(retry.Policy{MaxAttempts: 2, Initial: 30 * time.Second, NoJitter: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		_, err := b.Run(ctx, s)
		require.NoError(t, err)
		assert.Equal(t, []node.State{node.Failed}, states(s.report))
		assert.Equal(t, 2, results(s.report)[0].Attempts)
		assert.ErrorAs(t, results(s.report)[0].Err, new(*throttle.DeadlineError))
		assert.Equal(t, 30*time.Second, time.Since(began))
	})
}

// A rejected item that cannot be retried in time is pending, and names the limiter that rejected it.
func TestRefusedItemThatCannotGoAgainInTime(t *testing.T) {
	for _, limited := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &state{}
			b := node.BatchFunc("b", feed(0), nil, keep)
			b = node.BatchFunc("b", feed(0), func(context.Context, int) (int, error) {
				b.Guard().Pause(time.Now().Add(time.Hour)) //nolint:contextcheck // it is of the guard, for all calls
				return 0, hit(time.Second)
			}, keep).WithRetry(retry.Policy{})
			if limited {
				b.WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}})
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			_, err := b.Run(ctx, s)
			require.ErrorAs(t, err, new(*throttle.DeadlineError))
			res := results(s.report)[0]
			assert.Equal(t, node.Pending, res.State)
			require.ErrorAs(t, res.Err, new(*adaptive.RateLimitHit))
			assert.LessOrEqual(t, time.Since(began), 2*time.Second)
		})
	}
}
