package flow_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// A batch of flows and nodes inside it, however deep, may be within one guard:
// its limit bounds all of them together, and none waits for itself.
func TestABatchMayBeWithinTheGuardOfANodeInside(t *testing.T) {
	for name, own := range map[string]bool{"shared": false, "the batch's own": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, err := guard.New(guard.Policy{Name: "key", Limits: throttle.Limits{Concurrency: 2}})
				require.NoError(t, err)
				var now, most, calls atomic.Int64
				call := func(name string) *node.Step[*user] {
					return node.Do(name, func(context.Context, *user) error {
						calls.Add(1)
						most.Store(max(most.Load(), now.Add(1)))
						time.Sleep(time.Second)
						now.Add(-1)
						return nil
					})
				}
				a, b, c := call("a"), call("b"), call("c")
				deep := flow.New("outer", a).Then(flow.New("inner", b)).
					Then(flow.Batch("batch", of[*user](users(2)...), c, nil).WithParallel(2))
				outer := flow.Batch("users", of[*trail](users(6)...), deep, nil).WithParallel(4)
				if own {
					outer.WithLimits(throttle.Limits{Concurrency: 2})
					g = outer.Guard()
				} else {
					outer.Within(g)
				}
				for _, s := range []*node.Step[*user]{a, b, c} {
					s.Within(g)
				}
				f := flow.New[*trail]("f", outer)
				require.NoError(t, f.Validate())
				_, err = f.Run(t.Context(), &trail{})
				require.NoError(t, err)
				assert.Equal(t, int64(24), calls.Load())
				assert.LessOrEqual(t, most.Load(), int64(2))
				assert.Zero(t, g.Stats().InFlight)
			})
		})
	}
}

// Nodes side by side share a key as a matter of course.
func TestNodesSideBySideMayHaveOneKey(t *testing.T) {
	g, err := guard.New(guard.Policy{Limits: throttle.Limits{Concurrency: 1}})
	require.NoError(t, err)
	step := func(name string) *node.Step[*trail] {
		return node.Do(name, func(_ context.Context, s *trail) error {
			s.names = append(s.names, name)
			return nil
		}).Within(g)
	}
	f := flow.New("f", step("a")).Then(step("b")).Then(step("c"))
	require.NoError(t, f.Validate())
	requireTrail(t, f, node.Next, "a", "b", "c")
	require.Equal(t, int64(3), g.Stats().Admitted)
}
