package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
)

// aimd is a controller with a window that is easy to observe.
var aimd = adaptive.AIMD{Initial: 8, Max: 8, RecoveryThreshold: 1000}

// A batch of batches. Every inner item is refused once, several at the same
// time, and again later on.
func TestHitsPropagateToTheEnclosingBatch(t *testing.T) {
	for _, tc := range []struct {
		name      string
		propagate bool
		limited   bool // the inner batch has a limiter from the beginning
		middle    string
		cuts      int64
	}{
		{"with Propagate", true, true, "", 1},
		{"with Propagate and the limiter of the first hit", true, false, "", 1},
		{"without", false, true, "", 0},
		{"without, and with the limiter of the first hit", false, false, "", 0},
		{"through a batch without a limiter", true, true, "bare", 1},
		{"through a step without a limiter", true, true, "step", 1},
		{"not through a batch that does not propagate", true, true, "limited", 0},
		{"through a batch that propagates", true, true, "propagating", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls tally
				inner := node.Map("inner", func(ctx context.Context, i int) (int, error) {
					if err := work(ctx, 100*time.Millisecond); err != nil {
						return 0, err
					}
					if calls.add(i) == 1 {
						return 0, hit(time.Second)
					}
					return i, nil
				}).WithParallel(2)
				policy := guard.Policy{Propagate: tc.propagate}
				if tc.limited {
					policy.Law = adaptive.AIMD{}
				}
				inner.With(policy)
				run := func(ctx context.Context, i int) (int, error) {
					out, err := inner.All(ctx, []int{2 * i, 2*i + 1})
					return sum(out), err
				}
				middle := node.Map("middle", run)
				exec := func(ctx context.Context, i int) (int, error) {
					out, err := middle.All(ctx, []int{i})
					return sum(out), err
				}
				switch tc.middle {
				case "":
					exec = run
				case "step":
					step := node.Do("step", func(ctx context.Context, s *[2]int) (err error) {
						s[1], err = run(ctx, s[0])
						return err
					})
					exec = func(ctx context.Context, i int) (int, error) {
						s := &[2]int{i}
						_, err := step.Run(ctx, s)
						return s[1], err
					}
				case "limited":
					middle.WithLimits(concurrency(9))
				case "propagating":
					middle.With(guard.Policy{Limits: concurrency(9), Propagate: true})
				}
				outer := node.Map("outer", exec).WithParallel(2).With(guard.Policy{Law: aimd})
				out, err := outer.All(t.Context(), []int{0, 1})
				require.NoError(t, err, "no item fails because of a signal")
				assert.Equal(t, []int{1, 5}, out)
				assert.Equal(t, 8, calls.sum())

				lim := outer.Guard()
				assert.Equal(t, tc.cuts, lim.Stats().View.Cuts, "once for each epoch")
				assert.Equal(t, 8>>tc.cuts, lim.Stats().View.Concurrency)
			})
		})
	}
}

// Hits that lie in different epochs cut once each.
func TestEveryEpochCutsTheParentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		inner := node.Map("inner", func(ctx context.Context, i int) (int, error) {
			if err := work(ctx, 100*time.Millisecond); err != nil {
				return 0, err
			}
			if calls.add(i) == 1 {
				return 0, hit(time.Second)
			}
			return i, nil
		}).WithParallel(2).With(guard.Policy{Law: aimd, Propagate: true})
		outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
			_, err := inner.All(ctx, []int{2 * i, 2*i + 1})
			return i, err
		}).With(guard.Policy{Law: aimd})
		for n := range int64(3) {
			_, err := outer.All(t.Context(), []int{int(n)})
			require.NoError(t, err)
			lim := outer.Guard()
			assert.Equal(t, n+1, lim.Stats().View.Cuts)
			assert.Zero(t, lim.Stats().View.Hits, "a signal is no refusal of its own")
		}
	})
}

// A batch inside that shares the limiter takes over the permit of the call
// around it, so that a bound of one is one and no call waits for itself.
func TestBatchInsideOnTheSameLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newGuard(t, guard.Policy{Limits: concurrency(1)})
		var g gauge
		inner := node.Map("inner", func(ctx context.Context, i int) (int, error) {
			defer g.enter()()
			return i, work(ctx, time.Second)
		}).WithParallel(2).Within(lim)
		outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
			out, err := inner.All(ctx, []int{i, i})
			return sum(out), err
		}).WithParallel(2).Within(lim)
		out, err := outer.All(t.Context(), numbers(3))
		require.NoError(t, err)
		assert.Equal(t, []int{0, 2, 4}, out)
		assert.Equal(t, int64(1), g.most.Load())
		assert.Zero(t, lim.Stats().InFlight, lim.Stats().Why)
	})
}
