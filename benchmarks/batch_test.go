package benchmarks

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/destel/rill"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/sourcegraph/conc/iter"
	"github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

const (
	batchItems  = 10_000
	batchAtOnce = 16
)

func noop(_ context.Context, i int) (int, error) { return i + 1, nil }

// A batch is a contender that works on all items and returns the results in
// the order of the items.
type batch struct {
	name string
	run  func(ctx context.Context, items []int) ([]int, error)
}

// batches measures each, an operation being the whole batch, and reports what
// an item costs.
func batches(b *testing.B, on cores, list []batch) {
	b.Helper()
	items := make([]int, batchItems)
	for i := range items {
		items[i] = i
	}
	var all []contender
	for _, c := range list {
		all = append(all, contender{c.name, on(func(b *testing.B) {
			b.Helper()
			var before, after runtime.MemStats
			n := 0
			runtime.ReadMemStats(&before)
			for b.Loop() {
				out, err := c.run(b.Context(), items)
				if err != nil || len(out) != len(items) || out[0] != 1 || out[len(out)-1] != len(items) {
					b.Fatal("wrong results", len(out), err)
				}
				n += len(items)
			}
			elapsed := b.Elapsed()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(elapsed.Nanoseconds())/float64(n), "ns/item")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n), "B/item")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n), "allocs/item")
			b.ReportMetric(0, "ns/op")
		})})
	}
	contend(b, all)
}

// group runs f on every item in a goroutine of its own, so many at a time.
func group(f func(ctx context.Context, i int) (int, error)) func(ctx context.Context, items []int) ([]int, error) {
	return func(ctx context.Context, items []int) ([]int, error) {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(batchAtOnce)
		out := make([]int, len(items))
		for i, item := range items {
			g.Go(func() error {
				var err error
				out[i], err = f(ctx, item)
				return err
			})
		}
		return out, g.Wait()
	}
}

// BenchmarkBatch is a batch of items that do nothing, sixteen at once, without
// any limits: what the machinery costs.
func BenchmarkBatch(b *testing.B) {
	m := node.Map("noop", noop).WithParallel(batchAtOnce)
	batches(b, allCores, []batch{
		{"headrace", m.All},
		{"errgroup", group(noop)},
		{"conc-iter", func(ctx context.Context, items []int) ([]int, error) {
			m := iter.Mapper[int, int]{MaxGoroutines: batchAtOnce}
			return m.MapErr(items, func(i *int) (int, error) { return noop(ctx, *i) })
		}},
		{"conc-pool", func(ctx context.Context, items []int) ([]int, error) {
			p := pool.New().WithMaxGoroutines(batchAtOnce).WithContext(ctx)
			out := make([]int, len(items))
			for i, item := range items {
				p.Go(func(ctx context.Context) error {
					var err error
					out[i], err = noop(ctx, item)
					return err
				})
			}
			return out, p.Wait()
		}},
		{"rill", func(ctx context.Context, items []int) ([]int, error) {
			return rill.ToSlice(rill.OrderedMap(rill.FromSlice(items, nil), batchAtOnce,
				func(i int) (int, error) { return noop(ctx, i) }))
		}},
	})
}

// BenchmarkBatchGuarded is BenchmarkBatch with retries and limits that never
// bind. The limiter here also learns and puts refused items back in their
// place, for which the peers have nothing.
func BenchmarkBatchGuarded(b *testing.B) { batchesGuarded(b, allCores) }

// BenchmarkBatchGuardedOneCore is BenchmarkBatchGuarded on one core: the workers do not contend for the limiter.
func BenchmarkBatchGuardedOneCore(b *testing.B) {
	batchesGuarded(b, oneCore)
}

func batchesGuarded(b *testing.B, on cores) {
	b.Helper()
	m := node.Map("noop", noop).WithParallel(batchAtOnce).WithRetry(retry.Policy{}).
		WithLimits(throttle.Limits{Windows: []throttle.Window{bucket()}}).
		With(guard.Policy{Law: adaptive.AIMD{Initial: batchAtOnce}})
	batches(b, on, []batch{
		{"headrace", m.All},
		{"errgroup", group(noop)}, // without limits or retries: the yardstick
		{"failsafe-go", group(through(
			retrypolicy.NewWithDefaults[int](),
			bulkhead.New[int](batchAtOnce),
		))},
		{"failsafe-go-limited", group(through(
			retrypolicy.NewWithDefaults[int](),
			ratelimiter.NewBursty[int](plentyBurst, time.Second),
			bulkhead.New[int](batchAtOnce),
		))},
	})
}

// through calls noop under policies, the first of them outermost.
func through(policies ...failsafe.Policy[int]) func(ctx context.Context, i int) (int, error) {
	executor := failsafe.With(policies...)
	return func(ctx context.Context, i int) (int, error) {
		return executor.WithContext(ctx).Get(func() (int, error) { return noop(ctx, i) })
	}
}
