package node_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

var (
	_ node.Node[*state]             = (*node.Step[*state])(nil)
	_ node.Node[*state]             = (*node.Batch[*state, int, int])(nil)
	_ interface{ Validate() error } = (*node.Step[*state])(nil)
	_ interface{ Validate() error } = (*node.Batch[*state, int, int])(nil)
)

func write(line string, err error) func(context.Context, *state) error {
	return func(_ context.Context, s *state) error {
		s.log = append(s.log, line)
		return err
	}
}

func TestFuncPicksTheAction(t *testing.T) {
	s := &state{}
	step := node.Decide("ask", func(_ context.Context, s *state) (node.Action, error) {
		s.log = append(s.log, "asked")
		return "again", nil
	})
	action, err := step.Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, node.Action("again"), action)
	assert.Equal(t, []string{"asked"}, s.log)
	assert.Equal(t, "ask", step.Name())
}

func TestDoGoesOn(t *testing.T) {
	s := &state{}
	action, err := node.Do("do", write("done", nil)).Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, node.Next, action)
	assert.Equal(t, []string{"done"}, s.log)

	_, err = node.Do("do", write("", errBoom)).Run(t.Context(), s)
	assert.Equal(t, errBoom, err, "the error is the function's own")
}

func TestStepRetriesAndFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &state{}
		step := node.Do("do", write("tried", errBoom)).WithRetry(thrice).
			WithFallback(func(_ context.Context, s *state, err error) (node.Action, error) {
				s.log = append(s.log, "fallback: "+err.Error())
				return "plan b", nil
			})
		began := time.Now()
		action, err := step.Run(t.Context(), s)
		require.NoError(t, err)
		assert.Equal(t, node.Action("plan b"), action)
		assert.Equal(t, []string{"tried", "tried", "tried", "fallback: boom"}, s.log)
		assert.Equal(t, 3*time.Second, time.Since(began))
	})
}

func TestStepDoesNotRetryWhatIsFinal(t *testing.T) {
	for name, err := range map[string]error{
		"permanent": retry.Permanent(errBoom),
		"excepted":  fmt.Errorf("x: %w", errBoom),
		"quota":     adaptive.ErrQuotaExhausted,
	} {
		s := &state{}
		_, got := node.Do("do", write("tried", err)).WithRetry(retry.Policy{Except: []error{errBoom}}).Run(t.Context(), s)
		require.ErrorIs(t, got, err)
		assert.Len(t, s.log, 1, name)
	}
}

func TestStepWaitsOutAHit(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(1)} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			calls := 0
			step := node.Decide("do", func(context.Context, *state) (node.Action, error) {
				if calls++; calls < 3 {
					return "refused", hit(10 * time.Second)
				}
				return "done", nil
			})
			if limits.Concurrency > 0 {
				step.With(guard.Policy{Limits: limits})
			}
			action, err := step.Run(t.Context(), &state{})
			require.NoError(t, err)
			assert.Equal(t, node.Action("done"), action)
			assert.Equal(t, 3, calls)
			assert.GreaterOrEqual(t, time.Since(began), 20*time.Second)
			lim := step.Guard()
			assert.Equal(t, int64(2), lim.Stats().View.Hits)
			require.NoError(t, step.Guard().Reset())
			assert.Zero(t, lim.Stats().View.Hits)
		})
	}
}

func TestStepTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newGuard(t, guard.Policy{Limits: concurrency(1)})
		time.AfterFunc(time.Minute, hold(t, lim))
		calls := 0
		step := node.Do("do", func(ctx context.Context, _ *state) error {
			if calls++; calls == 1 {
				return work(ctx, time.Hour)
			}
			return work(ctx, 900*time.Millisecond)
		}).With(guard.Policy{Within: []*guard.Guard{lim}, Timeout: time.Second}).WithRetry(retry.Policy{Initial: time.Second, NoJitter: true})
		began := time.Now()
		_, err := step.Run(t.Context(), &state{})
		require.NoError(t, err)
		assert.Equal(t, time.Minute+2900*time.Millisecond, time.Since(began), "it begins with the admission")

		late := node.Do("late", func(ctx context.Context, _ *state) error { return work(ctx, time.Hour) }).
			With(guard.Policy{Timeout: time.Second})
		_, err = late.Run(t.Context(), &state{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "its timeout of 1s")
	})
}

func TestAStepThatIgnoresItsTimeoutIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		step := node.Do("deaf", func(context.Context, *state) error {
			<-release
			return nil
		}).With(guard.Policy{Limits: concurrency(1), Timeout: time.Second})
		began := time.Now()
		_, err := step.Run(t.Context(), &state{})
		require.ErrorAs(t, err, new(*fault.HungError))
		assert.Equal(t, 2*time.Second, time.Since(began))
		assert.Zero(t, step.Guard().Stats().InFlight)
	})
}

// The grace period is that of items: a step of its own ends with its context, node.One does not.
func TestWhichStepsHaveAGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			node node.Node[*state]
			want time.Duration
		}{
			{node.Do("plain", func(ctx context.Context, _ *state) error { return work(ctx, 5*time.Second) }), time.Second},
			{node.One("one", func(ctx context.Context, _ *state) (int, error) { return 1, work(ctx, 5*time.Second) },
				func(*state, int) {}), 5 * time.Second},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			began := time.Now()
			_, _ = c.node.Run(ctx, &state{})
			assert.Equal(t, c.want, time.Since(began), c.node.Name())
		}
	})
}

func TestStepPanics(t *testing.T) {
	fine := func(context.Context, *state) error { return nil }
	for where, step := range map[string]*node.Step[*state]{
		"f": node.Decide("s", func(context.Context, *state) (node.Action, error) { panic("f") }).WithRetry(thrice),
		"cost": node.Do("s", fine).With(guard.Policy{Limits: concurrency(1)}).
			WithCost(func(*state) throttle.Cost { panic("cost") }),
		"fallback": node.Do("s", write("", errBoom)).
			WithFallback(func(context.Context, *state, error) (node.Action, error) { panic("fallback") }),
	} {
		_, err := step.Run(t.Context(), &state{})
		var panicked *fault.PanicError
		require.ErrorAs(t, err, &panicked, where)
		assert.Equal(t, where, panicked.Value)
	}
}

func TestStepCost(t *testing.T) {
	step := node.Do("s", func(ctx context.Context, _ *state) error {
		guard.Use(ctx, throttle.Cost{Tokens: 7}) // the call knows best
		return nil
	}).With(guard.Policy{Limits: tokens(100)}).WithCost(func(*state) throttle.Cost { return throttle.Cost{Tokens: 50} })
	_, err := step.Run(t.Context(), &state{})
	require.NoError(t, err)
	lim := step.Guard()
	assert.Equal(t, int64(93), left(t, lim))

	huge := node.Do("s", write("sent", nil)).With(guard.Policy{Limits: tokens(100)}).
		WithCost(func(*state) throttle.Cost { return throttle.Cost{Tokens: 101} })
	s := &state{}
	_, err = huge.Run(t.Context(), s)
	require.ErrorAs(t, err, new(*throttle.CostError))
	assert.Empty(t, s.log)
}

func TestStepUnderAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	for _, limits := range []throttle.Limits{{}, concurrency(1)} {
		s := &state{}
		step := node.Do("s", write("sent", nil)).
			WithFallback(func(context.Context, *state, error) (node.Action, error) { return "fallback", nil })
		if limits.Concurrency > 0 {
			step.With(guard.Policy{Limits: limits})
		}
		_, err := step.Run(ctx, s)
		require.ErrorIs(t, err, errBoom)
		assert.Empty(t, s.log)
	}
}

func TestStepInBackoffStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := node.Do("s", write("", errBoom)).WithRetry(retry.Policy{Initial: time.Hour, Max: time.Hour}).Run(ctx, &state{})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, time.Second, time.Since(began))
	})
}

// The step's own context may end before that of the batch around it.
func TestStepInsideABatchWithAContextOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := node.Do("s", write("", errBoom)).WithRetry(retry.Policy{Initial: time.Hour, Max: time.Hour})
		outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := step.Run(ctx, &state{})
			return i, err
		})
		began := time.Now()
		_, err := outer.All(t.Context(), numbers(1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
	})
}

// A step inside a batch obeys the batch's intake: it begins no other attempt.
func TestStepInsideABatchThatIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		step := node.Do("s", func(ctx context.Context, _ *state) error {
			calls++
			return errors.Join(work(ctx, 2*time.Second), errBoom)
		}).WithRetry(thrice)
		outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
			_, err := step.Run(ctx, &state{})
			return i, err
		})
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := outer.All(ctx, numbers(2))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, calls)
		assert.Equal(t, 2*time.Second, time.Since(began))
		var failed *node.BatchError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, node.Counts{Total: 2, Pending: 2}, failed.Counts)
	})
}

func TestStepSettings(t *testing.T) {
	lim := newGuard(t, guard.Policy{})
	f := func(context.Context, *state) error { return nil }
	for _, tc := range []struct {
		step   *node.Step[*state]
		fields []string
	}{
		{node.Do("s", f), nil},
		{node.Do("", f), []string{"name"}},
		{node.Do[*state]("s", nil), []string{"f"}},
		{node.Decide[*state]("s", nil), []string{"f"}},
		{node.Do("s", f).With(guard.Policy{Timeout: -1}), []string{"Timeout"}},
		{node.Do("s", f).With(guard.Policy{Limits: concurrency(-1)}), []string{"Concurrency"}},
		{node.Do("s", f).With(guard.Policy{Law: adaptive.AIMD{Min: -1}}), []string{"Min"}},
		{node.Do("s", f).With(guard.Policy{Within: []*guard.Guard{nil}}), []string{"Within[0]"}},
		{node.Do("s", f).Within(nil), []string{"Within"}},
		{node.Do("s", f).With(guard.Policy{Limits: concurrency(1), Preset: presets.GenericModerate}).Within(lim), nil},
		{node.Do("s", f).WithRetry(retry.Policy{Jitter: 3}), []string{"Jitter"}},
		{node.Do("s", f).WithFallback(nil).WithCost(nil), []string{"WithFallback", "WithCost"}},
	} {
		assertProblems(t, tc.step.Validate(), tc.fields...)
		_, err := tc.step.Run(t.Context(), &state{})
		assertProblems(t, err, tc.fields...)
	}

	step := node.Do("s", f)
	_, err := step.Run(t.Context(), &state{})
	require.NoError(t, err)
	step.With(guard.Policy{Timeout: time.Second}).WithFallback(nil).WithRetry(retry.Policy{})
	_, err = step.Run(t.Context(), &state{})
	assertProblems(t, err, "With", "WithFallback", "WithRetry")
}

func TestStepPropagates(t *testing.T) {
	for _, propagate := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var calls tally
			step := node.Do("s", func(ctx context.Context, i *int) error {
				if err := work(ctx, time.Second); err != nil {
					return err
				}
				if calls.add(*i) == 1 {
					return hit(time.Second)
				}
				return nil
			}).With(guard.Policy{Law: aimd, Propagate: propagate})
			outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
				_, err := step.Run(ctx, &i)
				return i, err
			}).WithParallel(3).With(guard.Policy{Law: aimd})
			_, err := outer.All(t.Context(), numbers(3))
			require.NoError(t, err)
			lim := outer.Guard()
			want := map[bool]int64{true: 1}[propagate]
			assert.Equal(t, want, lim.Stats().View.Cuts)
		})
	}
}
