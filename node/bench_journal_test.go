package node_test

import (
	"context"
	"testing"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// One operation is one item that does nothing, on 16 workers, with a journal in memory.
func BenchmarkJournal(b *testing.B) {
	m := node.Map("m", same).WithParallel(16).WithJournal(journal.NewMemory())
	items := numbers(b.N)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := m.All(context.Background(), items); err != nil {
		b.Fatal(err)
	}
}
