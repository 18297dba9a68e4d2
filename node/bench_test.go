package node_test

import (
	"context"
	"testing"

	"github.com/headrace/headrace/node"
)

// upTo gives n items without a slice of them.
func upTo(n int) func(func(int, error) bool) {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
	}
}

// One operation is one item that does nothing, on 16 workers.
func BenchmarkItem(b *testing.B) {
	for _, bm := range []struct {
		name string
		make func() batch
	}{
		{"bare", func() batch { return node.Map("m", same) }},
		{"limited", guarded},
	} {
		b.Run(bm.name+"/all", func(b *testing.B) {
			m := bm.make().WithParallel(16)
			items := numbers(b.N)
			b.ReportAllocs()
			b.ResetTimer()
			if _, err := m.All(context.Background(), items); err != nil {
				b.Fatal(err)
			}
		})
		for _, unordered := range []bool{false, true} {
			name := "/stream"
			if unordered {
				name = "/unordered"
			}
			b.Run(bm.name+name, func(b *testing.B) {
				m := bm.make().WithParallel(16)
				if unordered {
					m.Unordered()
				}
				b.ReportAllocs()
				for _, err := range m.Stream(context.Background(), upTo(b.N)) {
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// One operation is a batch of 10,000 items that do nothing, on 16 workers, as
// in the module benchmarks, which has the peers beside it.
func BenchmarkBatch(b *testing.B) {
	items := numbers(10_000)
	for name, m := range map[string]batch{"bare": node.Map("m", same), "limited": guarded()} {
		b.Run(name, func(b *testing.B) {
			m.WithParallel(16)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.All(b.Context(), items); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One operation is one run of a step that does nothing.
func BenchmarkStep(b *testing.B) {
	step := node.Do("s", func(context.Context, *state) error { return nil })
	s := &state{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := step.Run(context.Background(), s); err != nil {
			b.Fatal(err)
		}
	}
}
