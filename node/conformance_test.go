package node_test

import (
	"context"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/guardtest"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// Why a node lacks abilities.
const (
	whole  = "a function returns when it has the whole answer"
	waited = "an item waits until the context ends"
)

func TestConformanceOfBatches(t *testing.T) {
	batch := func(p guard.Policy) *node.Batch[node.None, call, struct{}] {
		return node.Map("b", func(ctx context.Context, c call) (struct{}, error) { return struct{}{}, c.attempts.Do(ctx) }).
			With(p).WithCost(func(c call) throttle.Cost { return c.cost }).WithGrace(0).
			WithinOf(func(c call) *guard.Guard { return c.attempts.Within() })
	}
	guardtest.Run(t, guardtest.Door{
		Name: "batch",
		Open: func(t *testing.T, p guard.Policy) (guardtest.Caller, *guard.Guard) {
			t.Helper()
			b := batch(p)
			require.NoError(t, b.Validate())
			return func(ctx context.Context, c throttle.Cost, a *guardtest.Attempts) error {
				_, err := b.All(ctx, []call{{c, a}})
				return err
			}, b.Guard()
		},
		Crowded: func(t *testing.T, p guard.Policy, n int) (guardtest.Caller, *guard.Guard) {
			t.Helper()
			b, in := batch(p).WithParallel(n).Unordered(), make(chan call)
			require.NoError(t, b.Validate())
			var results sync.Map // of *guardtest.Attempts: chan error
			over := make(chan struct{})
			go func() {
				defer close(over)
				for r, err := range b.Stream(context.Background(), items(in)) {
					assert.NoError(t, err)
					to, _ := results.Load(r.In.attempts)
					to.(chan error) <- r.Err
				}
			}()
			t.Cleanup(func() {
				close(in)
				<-over
			})
			return func(_ context.Context, c throttle.Cost, a *guardtest.Attempts) error {
				result := make(chan error, 1)
				results.Store(a, result)
				in <- call{c, a}
				return <-result
			}, b.Guard()
		},
		Lacks: map[string]string{
			guardtest.Trying: waited, guardtest.Bodies: whole,
			"a call that needs two limits is not overtaken for ever": "each call of this door is a batch of its own, and batches are served in turn",
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
			guardtest.Trying: waited, guardtest.Bodies: whole,
			"a call that needs two limits is not overtaken for ever": static,
			"a used-up quota closes only the guard it belongs to":    static,
			"a call that waits occupies no worker":                   static,
			"a call that waits for its key holds nothing":            static,
			"calls of one key are served in order":                   static,
			"keys share the outer limit evenly":                      static,
		},
	})
}

// items yields what is received from in.
func items(in <-chan call) iter.Seq2[call, error] {
	return func(yield func(call, error) bool) {
		for c := range in {
			if !yield(c, nil) {
				return
			}
		}
	}
}

type call struct {
	cost     throttle.Cost
	attempts *guardtest.Attempts
}
