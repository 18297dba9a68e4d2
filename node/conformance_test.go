package node_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/guardtest"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

func TestConformanceOfBatches(t *testing.T) {
	guardtest.Run(t, guardtest.Door{
		Name: "batch",
		Open: func(t *testing.T, p guard.Policy) (guardtest.Caller, *guard.Guard) {
			t.Helper()
			cost := func(c call) throttle.Cost { return c.cost }
			b := node.Map("b", func(ctx context.Context, c call) (struct{}, error) { return struct{}{}, c.attempts.Do(ctx) }).
				With(p).WithCost(cost).WithGrace(0).
				WithinOf(func(c call) *guard.Guard { return c.attempts.Within() })
			require.NoError(t, b.Validate())
			return func(ctx context.Context, c throttle.Cost, a *guardtest.Attempts) error {
				_, err := b.All(ctx, []call{{c, a}})
				return err
			}, b.Guard()
		},
	})
}

func TestConformanceOfSteps(t *testing.T) {
	const static = "the guards of a step do not depend on its state"
	guardtest.Run(t, guardtest.Door{
		Name: "step",
		Open: func(t *testing.T, p guard.Policy) (guardtest.Caller, *guard.Guard) {
			t.Helper()
			s := node.Do("s", func(ctx context.Context, c call) error { return c.attempts.Do(ctx) }).
				With(p).WithCost(func(c call) throttle.Cost { return c.cost })
			require.NoError(t, s.Validate())
			return func(ctx context.Context, c throttle.Cost, a *guardtest.Attempts) error {
				_, err := s.Run(ctx, call{c, a})
				return err
			}, s.Guard()
		},
		Lacks: map[string]string{
			"a call that waits for its key holds nothing": static,
			"calls of one key are served in order":        static,
			"keys share the outer limit evenly":           static,
		},
	})
}

type call struct {
	cost     throttle.Cost
	attempts *guardtest.Attempts
}
