package benchmarks

import (
	"context"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

const (
	batchItems  = 10_000
	batchAtOnce = 16
)

func noop(_ context.Context, i int) (int, error) { return i, nil }

// BenchmarkBatch is a batch of items that do nothing, sixteen at once: what the
// machinery costs. An operation is the whole batch.
func BenchmarkBatch(b *testing.B) {
	items := make([]int, batchItems)
	b.Run("headrace", func(b *testing.B) {
		m := node.Map("noop", noop).WithParallel(batchAtOnce)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m.All(b.Context(), items); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("errgroup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g, ctx := errgroup.WithContext(b.Context())
			g.SetLimit(batchAtOnce)
			out := make([]int, len(items))
			for i, item := range items {
				g.Go(func() error {
					var err error
					out[i], err = noop(ctx, item)
					return err
				})
			}
			if err := g.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("headrace-guarded", func(b *testing.B) {
		m := node.Map("noop", noop).WithParallel(batchAtOnce).WithRetry(retry.Policy{}).
			WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Bucket(plenty, plentyBurst)}}).
			WithLaw(adaptive.AIMD{Initial: batchAtOnce})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m.All(b.Context(), items); err != nil {
				b.Fatal(err)
			}
		}
	})
}
