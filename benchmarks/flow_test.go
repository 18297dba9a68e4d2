package benchmarks

import (
	"context"
	"testing"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// numbers is the state of a run, and what goes through the flow for an item of it.
type (
	numbers struct{ in, out []number }
	number  struct{ in, out int }
)

// eachFlow returns a batch of flows of one step that does nothing.
func eachFlow() node.Node[*numbers] {
	step := node.Do("step", func(ctx context.Context, n *number) (err error) {
		n.out, err = noop(ctx, n.in)
		return err
	})
	return flow.Each("items", func(s *numbers) []number { return s.in }, flow.New("item", step),
		func(s *numbers, done []number) { s.out = done }).WithParallel(batchAtOnce)
}

// BenchmarkFlow is a batch of flows, one for each item, of one step that does
// nothing: what the graph costs an item. errgroup calls the step's function.
func BenchmarkFlow(b *testing.B) {
	under := func(run func(context.Context, *numbers) error) func(context.Context, []int) ([]int, error) {
		return func(ctx context.Context, items []int) ([]int, error) {
			s := &numbers{in: make([]number, len(items))}
			for i, item := range items {
				s.in[i].in = item
			}
			if err := run(ctx, s); err != nil {
				return nil, err
			}
			out := make([]int, len(s.out))
			for i := range s.out {
				out[i] = s.out[i].out
			}
			return out, nil
		}
	}
	each := eachFlow()
	batches(b, allCores, []batch{
		{"headrace", under(func(ctx context.Context, s *numbers) error {
			_, err := flow.Run(ctx, each, s)
			return err
		})},
		{"errgroup", group(noop)},
	})
}
