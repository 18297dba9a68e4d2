package node_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// patience is the node's: how long code is given to return after its context has ended.
const patience = time.Second

func TestRunningItemsFinishWithinTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &state{}
		began := time.Now()
		b := node.BatchFunc("b", feed(4, 8, 30, 1), func(ctx context.Context, i int) (int, error) {
			return i, work(ctx, time.Duration(i)*time.Second)
		}, keep).WithParallel(3)
		time.AfterFunc(time.Second, cancel)
		_, err := b.Run(ctx, s)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 11*time.Second, time.Since(began), "cancelled after 1 s, with a grace of 10 s")
		assert.Equal(t, []node.State{node.Done, node.Done, node.Pending}, states(s.report), "the fourth never began")
		assert.Equal(t, []int{4, 8, 0}, s.report.Values())
		var failed *node.BatchError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, node.Counts{Total: 3, Done: 2, Pending: 1}, failed.Counts)
	})
}

func TestARunEndsWithItsLastItemAndNotWithTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		m := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, work(ctx, 3*time.Second) }).WithParallel(2)
		time.AfterFunc(time.Second, cancel)
		out, err := m.All(ctx, []int{5, 6, 7})
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, []int{5, 6, 0}, out)
		assert.Equal(t, 3*time.Second, time.Since(began))
	})
}

func TestWithoutGraceItemsAreToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		var causes []error
		s := &state{}
		b := node.BatchFunc("b", feed(1, 2), func(ctx context.Context, i int) (int, error) {
			err := work(ctx, time.Hour)
			causes = append(causes, context.Cause(ctx))
			return i, err
		}, keep).WithGrace(0)
		time.AfterFunc(time.Second, func() { cancel(errBoom) })
		_, err := b.Run(ctx, s)
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, []error{errBoom}, causes, "the items' context knows why")
		assert.Equal(t, []node.State{node.Pending}, states(s.report))
	})
}

// What the item makes of the end of its context is up to it: its own error,
// that of the context, or the cause.
func TestWhatTheStopCutShortIsPending(t *testing.T) {
	for name, tc := range map[string]struct {
		err   func(ctx context.Context) error
		state node.State
	}{
		"the context's error": {func(ctx context.Context) error { return ctx.Err() }, node.Pending},
		"the cause":           {context.Cause, node.Pending},
		"wrapped":             {func(ctx context.Context) error { return errors.Join(errors.New("x"), ctx.Err()) }, node.Pending},
		"its own timeout":     {func(context.Context) error { return context.DeadlineExceeded }, node.Failed},
		"a failure":           {func(context.Context) error { return errors.New("x") }, node.Failed},
		"a late success":      {func(context.Context) error { return nil }, node.Done},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				s := &state{}
				b := node.BatchFunc("b", feed(1, 2), func(ctx context.Context, i int) (int, error) {
					<-ctx.Done()
					return i, tc.err(ctx)
				}, keep).WithGrace(0)
				time.AfterFunc(time.Second, func() { cancel(errBoom) })
				_, err := b.Run(ctx, s)
				require.ErrorIs(t, err, errBoom)
				assert.Equal(t, []node.State{tc.state}, states(s.report))
			})
		})
	}
}

func TestContextThatHasEndedBeginsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		m := node.Map("m", func(context.Context, int) (int, error) {
			t.Error("Exec was called")
			return 0, nil
		}).WithParallel(4)
		out, err := m.All(ctx, numbers(3))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, []int{0, 0, 0}, out)
		var failed *node.BatchError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, node.Counts{Total: 3, Pending: 3}, failed.Counts)
		assert.Zero(t, time.Since(began))
	})
}

func TestDeadlineStopsLikeACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, work(ctx, 3*time.Second) })
		out, err := m.All(ctx, []int{5, 6})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []int{5, 0}, out, "the one that was running had its grace")
	})
}

// If nothing is missing there is nothing to report, whatever happened meanwhile.
func TestCancelDuringTheLastItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := node.Map("m", func(_ context.Context, i int) (int, error) {
			if i == 2 {
				cancel()
				synctest.Wait()
			}
			return i, nil
		})
		out, err := m.All(ctx, numbers(3))
		require.NoError(t, err)
		assert.Equal(t, numbers(3), out)
	})
}

func TestItemsThatWaitForTheLimiterStopAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		lim := newGuard(t, guard.Policy{Name: "shared", Limits: concurrency(1)})
		end := hold(t, lim)
		s := &state{}
		b := node.BatchFunc("b", feed(numbers(9)...), func(context.Context, int) (int, error) {
			t.Error("Exec was called")
			return 0, nil
		}, keep).WithParallel(4).Within(lim)
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		_, err := b.Run(ctx, s)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, time.Second, time.Since(began), "the grace is not for those who wait")
		assert.Equal(t, []node.State{node.Pending, node.Pending, node.Pending, node.Pending}, states(s.report))
		for res := range s.report.All() {
			assert.Zero(t, res.Attempts)
			assert.ErrorIs(t, res.Err, context.Canceled)
		}
		assert.Zero(t, lim.Stats().Waiting)
		end()
	})
}

func TestItemsThatWaitOutARefusalStopAtOnce(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(2)} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := &state{}
			began := time.Now()
			b := node.BatchFunc("b", feed(1, 2), func(context.Context, int) (int, error) {
				return 0, hit(time.Minute)
			}, keep)
			if limits.Concurrency > 0 {
				b.WithLimits(limits)
			}
			time.AfterFunc(time.Second, cancel)
			_, err := b.Run(ctx, s)
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, time.Second, time.Since(began))
			assert.Equal(t, []node.State{node.Pending}, states(s.report))
			for res := range s.report.Pending() {
				assert.ErrorAs(t, res.Err, new(*adaptive.RateLimitHit), "it says what was waited for")
			}
		})
	}
}

// A refusal that was waited out has nothing to do with what happens after it.
func TestRefusalIsNotKeptBeyondItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var calls tally
		s := &state{}
		b := node.BatchFunc("b", feed(1), func(ctx context.Context, i int) (int, error) {
			if calls.add(i) == 1 {
				return 0, hit(time.Second)
			}
			return 0, work(ctx, time.Hour)
		}, keep).WithGrace(0)
		time.AfterFunc(time.Minute, cancel)
		_, err := b.Run(ctx, s)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, context.Canceled, results(s.report)[0].Err)
	})
}

func TestItemsInBackoffStopAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &state{}
		began := time.Now()
		b := node.BatchFunc("b", feed(1, 2, 3), func(context.Context, int) (int, error) {
			return 0, errBoom
		}, keep).WithParallel(2).WithRetry(retry.Policy{Initial: time.Hour, Max: time.Hour}).
			WithFallback(func(context.Context, int, error) (int, error) {
				t.Error("the fallback was asked")
				return 0, nil
			})
		time.AfterFunc(time.Second, cancel)
		_, err := b.Run(ctx, s)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, []node.State{node.Pending, node.Pending}, states(s.report))
		for res := range s.report.All() {
			assert.Equal(t, 1, res.Attempts)
			require.ErrorIs(t, res.Err, errBoom, "what failed")
			assert.ErrorIs(t, res.Err, context.Canceled, "and why it was left at that")
		}
	})
}

// An attempt that fails after the stop has attempts left that it will not get.
func TestItemWithAttemptsLeftIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var events log
		s := &state{}
		b := node.BatchFunc("b", feed(1, 2), func(ctx context.Context, i int) (int, error) {
			if err := work(ctx, 3*time.Second); err != nil {
				return 0, err
			}
			return 0, errBoom
		}, keep).WithRetry(retry.Policy{MaxAttempts: 2})
		time.AfterFunc(time.Second, cancel)
		_, err := b.Run(event.With(ctx, &events), s)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []node.State{node.Pending}, states(s.report))
		require.ErrorIs(t, results(s.report)[0].Err, errBoom)
		assert.Equal(t, []string{"abandoned 0 1"}, events.items(), "nobody announces an attempt that will not be made")
	})
}

func TestGraceOfNestedBatchesDoesNotAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var intakeEnded time.Duration
		innermost := node.Map("innermost", func(ctx context.Context, _ int) (int, error) {
			in, _ := intake.Of(ctx)
			<-in.Done()
			intakeEnded = time.Since(began)
			<-ctx.Done()
			return 0, ctx.Err()
		})
		inner := node.Map("inner", func(ctx context.Context, i int) (int, error) {
			_, err := innermost.All(ctx, []int{i})
			return 0, err
		})
		outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
			_, err := inner.All(ctx, []int{i})
			return 0, err
		})
		time.AfterFunc(time.Second, cancel)
		_, err := outer.All(ctx, numbers(2))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, time.Second, intakeEnded, "the intake ends on all levels at once")
		assert.Equal(t, 11*time.Second, time.Since(began), "and so does the grace")
		var failed *node.BatchError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, node.Counts{Total: 2, Pending: 2}, failed.Counts)
	})
}

// A nested batch finishes what it has begun, and begins no more.
func TestNestedBatchHasItsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var done atomic.Int64
		inner := node.Map("inner", func(ctx context.Context, i int) (int, error) {
			err := work(ctx, 4*time.Second)
			if err == nil {
				done.Add(1)
			}
			return i, err
		})
		outer := node.Map("outer", func(ctx context.Context, _ int) (int, error) {
			_, err := inner.All(ctx, numbers(3))
			return 0, err
		})
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := outer.All(ctx, numbers(2))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, int64(1), done.Load())
		assert.Equal(t, 4*time.Second, time.Since(began))
	})
}

// Where the items' context ends from outside, there is nothing to be waited
// for but the patience.
func TestNestedBatchWhoseContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		inner := node.Map("inner", func(context.Context, int) (int, error) {
			<-release
			return 0, nil
		})
		outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			_, err := inner.All(ctx, []int{i})
			return 0, err
		})
		began := time.Now()
		_, err := outer.All(t.Context(), []int{1})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 2*time.Second+patience, time.Since(began))
		close(release)
	})
}
