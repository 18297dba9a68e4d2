package flow_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// The cost of an item that does nothing, without and with a watcher.
func BenchmarkProgress(b *testing.B) {
	for _, bench := range []struct {
		name string
		opts []flow.RunOption
	}{
		{"without", nil},
		{"with", []flow.RunOption{flow.WithProgress(func(event.Progress) {}, 0), flow.WithSeries()}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			items := func(context.Context, *trail) (iter.Seq2[int, error], error) {
				return func(yield func(int, error) bool) {
					for i := 0; i < b.N && yield(i, nil); i++ {
					}
				}, nil
			}
			n := node.BatchFunc("n", items, func(_ context.Context, i int) (int, error) { return i, nil }, nil).WithParallel(2)
			b.ReportAllocs()
			began := time.Now()
			if _, err := flow.Run(b.Context(), n, &trail{}, bench.opts...); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(b.N), "ns/item")
		})
	}
}
