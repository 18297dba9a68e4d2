package node_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// The end of the caller's context is noticed at the same instant, not when some
// goroutine reports it.
func TestNothingBeginsAfterACancel(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, {Concurrency: 1}} {
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			began := 0
			m := node.Map("m", func(_ context.Context, i int) (int, error) {
				began++
				cancel()
				return i, nil
			})
			if limits.Concurrency > 0 {
				m.WithLimits(limits)
			}
			out, err := m.All(ctx, []int{7, 8, 9})
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, 1, began)
			require.Equal(t, []int{7, 0, 0}, out)
		}
	}
}

func TestABatchWithoutALawBeginsWithItsWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plenty := throttle.Limits{Windows: []throttle.Window{throttle.Sliding(10_000, time.Minute)}}
		for _, tc := range []struct {
			limits throttle.Limits
			atOnce int
		}{
			{plenty, 64},
			{throttle.Limits{Concurrency: 100}, 64},
			{throttle.Limits{Concurrency: 10}, 10},
		} {
			m := node.Map("m", func(_ context.Context, i int) (int, error) {
				time.Sleep(time.Second)
				return i, nil
			}).WithParallel(64).WithLimits(tc.limits)
			began := time.Now()
			_, err := m.All(t.Context(), make([]int, 640))
			require.NoError(t, err)
			rounds := (640 + tc.atOnce - 1) / tc.atOnce
			assert.Equal(t, time.Duration(rounds)*time.Second, time.Since(began))
		}
	})
}

func TestAWindowOfTokensNeedsACost(t *testing.T) {
	tokens := throttle.Limits{Windows: []throttle.Window{throttle.Sliding(100, time.Minute).Of(throttle.Tokens)}}
	costs := func(int) throttle.Cost { return throttle.Cost{Tokens: 10} }
	used := func(int, int) throttle.Cost { return throttle.Cost{Tokens: 10} }
	m := func() *node.Batch[node.None, int, int] { return node.Map("m", same).WithLimits(tokens) }
	require.ErrorContains(t, m().Validate(), "counts nothing unless WithCost declares")
	require.NoError(t, m().WithCost(costs).Validate())
	require.NoError(t, m().WithUsed(used).Validate())
	step := node.Do("s", func(context.Context, int) error { return nil }).With(guard.Policy{Limits: tokens})
	require.ErrorContains(t, step.Validate(), "counts nothing unless WithCost declares")
	require.NoError(t, step.WithCost(costs).Validate())
}

// keeps is a handler that returns each item as its own result.
type keeps struct {
	node.Defaults[*state, int, int]
}

func (keeps) Prep(context.Context, *state) (iter.Seq2[int, error], error) {
	return node.Slice([]int{1, 2, 3}), nil
}

func (keeps) Exec(_ context.Context, i int) (int, error) {
	if i == 2 {
		return -1, errBoom
	}
	return 10 * i, nil
}

func (keeps) Unfinished(i int) int { return i }

func TestUnfinishedStandsForWhatIsNotDone(t *testing.T) {
	b := node.NewBatch[*state, int, int]("b", keeps{}).WithOnError(node.FailFast())
	out, err := b.All(t.Context(), []int{1, 2, 3})
	require.ErrorIs(t, err, errBoom)
	assert.Equal(t, []int{10, 2, 3}, out)
}

// A batch in a batch in a batch doubles nothing.
func TestErrorsOfNestedBatchesStaySmall(t *testing.T) {
	exec := func(context.Context, int) (int, error) { return 0, errBoom }
	for range 40 {
		inner := node.Map("m", exec).WithOnError(node.FailFast())
		exec = func(ctx context.Context, i int) (int, error) {
			_, err := inner.All(ctx, []int{i})
			return 0, err
		}
	}
	_, err := node.Map("outer", exec).All(t.Context(), []int{1})
	require.ErrorIs(t, err, errBoom)
	assert.NotErrorIs(t, err, errors.ErrUnsupported, "the whole tree is looked through")
	assert.NotErrorAs(t, err, new(*adaptive.RateLimitHit))
}

type status int

func (s status) Error() string   { return "an answer" }
func (s status) StatusCode() int { return int(s) }

func TestAnAnswerIsNotTriedAgain(t *testing.T) {
	tries := func(p retry.Policy, err error) (n int) {
		p.Initial, p.NoJitter = time.Nanosecond, true
		_, _ = node.Map("m", func(context.Context, int) (int, error) {
			n++
			return 0, err
		}).WithRetry(p).All(t.Context(), []int{1})
		return n
	}
	assert.Equal(t, 1, tries(retry.Policy{}, status(400)))
	assert.Equal(t, 3, tries(retry.Policy{}, status(500)))
	assert.Equal(t, 3, tries(retry.Policy{}, errBoom))
	always := retry.Policy{Retryable: func(error) bool { return true }}
	assert.Equal(t, 3, tries(always, status(400)), "whoever says so gets it")
}

// moody has a stand-in for some items only.
type moody struct{ keeps }

func (moody) Unfinished(i int) int {
	if i%2 == 0 {
		panic("no stand-in")
	}
	return i
}

func TestAPanicOfUnfinishedIsSurvived(t *testing.T) {
	for range 50 {
		b := node.NewBatch[*state, int, int]("b", moody{}).WithParallel(4)
		out, err := b.All(t.Context(), []int{1, 2, 3, 4, 5})
		require.ErrorIs(t, err, errBoom, "that of item 2")
		require.Equal(t, []int{10, 0, 30, 40, 50}, out)
	}
}

// The failure that stopped an outer batch is none of those of the inner one.
func TestABatchStoppedFromOutsideKeepsItsFailures(t *testing.T) {
	errOwn := errors.New("own")
	synctest.Test(t, func(t *testing.T) {
		inner := node.Map("inner", func(ctx context.Context, i int) (int, error) {
			if i == 0 {
				return 0, errOwn
			}
			<-ctx.Done()
			return 0, context.Cause(ctx)
		}).WithParallel(2)
		var innerErr error
		outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
			if i == 0 {
				time.Sleep(time.Second)
				return 0, errBoom
			}
			_, innerErr = inner.All(ctx, []int{0, 1, 2})
			return 0, innerErr
		}).WithParallel(2).WithOnError(node.FailFast())
		_, err := outer.All(t.Context(), []int{0, 1})
		require.ErrorIs(t, err, errBoom)
		require.ErrorIs(t, innerErr, errOwn)
		require.ErrorIs(t, innerErr, errBoom, "and what stopped it")
	})
}

// A report's values belong to the caller that requested them.
func TestValuesAreACopy(t *testing.T) {
	s := &state{}
	_, err := node.BatchFunc("b", feed(1, 2), same, keep).Run(t.Context(), s)
	require.NoError(t, err)
	s.report.Values()[0] = 7
	assert.Equal(t, []int{1, 2}, s.report.Values())
}

// stuck hangs in the key of its second item.
type stuck struct {
	keeps
	release chan struct{}
}

func (s stuck) Key(i int) string {
	if i == 2 {
		<-s.release
	}
	return "key"
}

func TestUnfinishedStandsForWhatWasLeftBehind(t *testing.T) {
	for _, stream := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			release := make(chan struct{})
			b := node.NewBatch[*state, int, int]("b", stuck{release: release}).WithGrace(0)
			time.AfterFunc(time.Second, func() { cancel(errBoom) })
			if stream {
				var out []int
				for r, err := range b.Stream(ctx, node.Slice([]int{1, 2, 3})) {
					if err == nil {
						out = append(out, r.Out)
					}
				}
				assert.Equal(t, []int{10, 2}, out)
			} else {
				out, err := b.All(ctx, []int{1, 2, 3})
				require.ErrorIs(t, err, errBoom)
				assert.Equal(t, []int{10, 2, 3}, out)
			}
			close(release)
		})
	}
}

// Neither the item that was stopped on its way to Exec nor those behind it begin.
func TestNothingBeginsAfterACancelInTheKey(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var events log
	m := node.Map("m", same).WithKey(func(i int) string {
		if i == 1 {
			cancel()
		}
		return ""
	})
	out, err := m.All(event.With(ctx, &events), []int{0, 1, 2})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []int{0, 0, 0}, out)
	assert.Equal(t, []string{"done 0 1", "abandoned 1 0"}, events.items())
}

// A stop that comes during the last item cuts nothing short.
func TestAllThatIsStoppedAtItsEndIsNotStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := node.Map("m", func(_ context.Context, i int) (int, error) {
		if i == 0 {
			return 0, errBoom
		}
		cancel()
		return i, nil
	}).All(ctx, []int{0, 1})
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	assert.NoError(t, failed.Stopped)
	assert.Equal(t, node.Counts{Total: 2, Done: 1, Failed: 1}, failed.Counts)
}
