package node_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

func TestWhatIsDoneIsNotCalledAgain(t *testing.T) {
	j := journal.NewMemory()
	var calls atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	batch := func() *node.Batch[node.None, int, int] {
		return node.Map("double", func(_ context.Context, i int) (int, error) {
			if calls.Add(1) == 30 {
				cancel()
			}
			return 2 * i, nil
		}).WithParallel(4).WithJournal(j)
	}
	outs, err := batch().All(ctx, numbers(100))
	require.ErrorIs(t, err, context.Canceled)
	first := calls.Load()
	assert.Less(t, first, int64(100))
	done := 0
	for i, out := range outs {
		if i > 0 && out == 2*i {
			done++
		}
	}
	assert.GreaterOrEqual(t, int64(done), first-1, "what was called is handed on")

	outs, err = batch().All(t.Context(), numbers(100))
	require.NoError(t, err)
	assert.Equal(t, int64(100), calls.Load(), "each once")
	for i, out := range outs {
		assert.Equal(t, 2*i, out)
	}
}

func TestTheFileHasEveryResultOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	j := journal.NewMemory()
	for round := range 3 {
		sink := node.NewJSONLFile[int, int](path)
		batch := node.BatchFunc("double",
			func(context.Context, node.None) (iter.Seq2[int, error], error) {
				return node.Slice(numbers(10 * (round + 1))), nil
			},
			func(_ context.Context, i int) (int, error) { return 2 * i, nil },
			nil,
		).WithJournal(j).WithSink(sink)
		_, err := batch.Run(t.Context(), node.None{})
		require.NoError(t, err)
		require.NoError(t, sink.Close())
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var want []byte
	for i := range 30 {
		want = fmt.Appendf(want, `{"index":%d,"state":"done","value":%d,"attempts":1}`+"\n", i, 2*i)
	}
	assert.Equal(t, string(want), string(text))
}
