package node_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// doneLines are those of what is done, from 0.
func doneLines(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"index":%d,"state":"done","value":%d,"attempts":1}`+"\n", i, i)
	}
	return text.String()
}

// into works on n numbers and writes them to path.
func into(t *testing.T, j journal.Journal, path string, n int) error {
	t.Helper()
	sink := node.NewJSONLFile[int, int](path)
	b := node.BatchFunc("b", feed(numbers(n)...), same, keep).WithSink(sink)
	if j != nil {
		b.WithJournal(j)
	}
	_, err := b.Run(t.Context(), &state{})
	require.NoError(t, sink.Close())
	require.NoError(t, sink.Close(), "again")
	return err
}

// What a process that was killed may have left.
func TestTheFileGoesOnWhereTheJournalEnds(t *testing.T) {
	for name, left := range map[string]func(text string) string{
		"as it was":          func(s string) string { return s },
		"half a line more":   func(s string) string { return s + `{"ind` },
		"lines more":         func(s string) string { return s + doneLines(3) },
		"cut":                func(s string) string { return s[:len(s)-1] },
		"empty":              func(string) string { return "" },
		"another file":       func(s string) string { return strings.Repeat("x", 2*len(s)) },
		"the last line lost": func(s string) string { return s[:len(s)-2] + "??" },
	} {
		t.Run(name, func(t *testing.T) {
			path, j := filepath.Join(t.TempDir(), "results.jsonl"), journal.NewMemory()
			require.NoError(t, into(t, j, path, 5))
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, doneLines(5), string(text))
			require.NoError(t, os.WriteFile(path, []byte(left(string(text))), 0o600))
			for n := 8; n < 10; n++ { // what was written anew is gone on with too
				require.NoError(t, into(t, j, path, n))
				text, err = os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, doneLines(n), string(text))
			}
		})
	}
}

func TestWithoutAJournalTheFileIsEmptied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	for range 2 {
		require.NoError(t, into(t, nil, path, 2))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, doneLines(2), string(text))
	}
}

// A run without the sink, or with another, leaves the file behind.
func TestTheFileCatchesUp(t *testing.T) {
	for name, sink := range map[string]node.Sink[int, int]{"no sink": nil, "another": &tracked{}} {
		t.Run(name, func(t *testing.T) {
			path, j := filepath.Join(t.TempDir(), "results.jsonl"), journal.NewMemory()
			require.NoError(t, into(t, j, path, 2))
			b := node.BatchFunc("b", feed(numbers(4)...), same, keep).WithJournal(j)
			if sink != nil {
				b.WithSink(sink)
			}
			_, err := b.Run(t.Context(), &state{})
			require.NoError(t, err)
			if got, ok := sink.(*tracked); ok {
				assert.Len(t, got.results(), 4, "it has not had the first two")
			}
			require.NoError(t, into(t, j, path, 5))
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, doneLines(5), string(text))
		})
	}
}

func TestLinesOfFailures(t *testing.T) {
	path, j := filepath.Join(t.TempDir(), "results.jsonl"), journal.NewMemory()
	want := `{"index":0,"key":"k1","state":"failed","error":"boom","attempts":1}` + "\n"
	for _, lost := range []bool{false, true} {
		if lost {
			require.NoError(t, os.Remove(path))
		}
		sink := node.NewJSONLFile[int, int](path)
		b := node.BatchFunc("b", feed(1), func(context.Context, int) (int, error) { return 0, errBoom }, keep).
			WithSink(sink).WithJournal(j).WithKey(func(i int) string { return fmt.Sprint("k", i) })
		_, err := b.Run(t.Context(), &state{})
		require.NoError(t, err)
		require.NoError(t, sink.Close())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
	}
}

// In a loop the file that is written anew has all rounds in the end.
func TestTheFileOfALoopIsWrittenAnew(t *testing.T) {
	path, j := filepath.Join(t.TempDir(), "results.jsonl"), journal.NewMemory()
	process := func() {
		ctx, end := occurrence.With(t.Context())
		defer end()
		sink := node.NewJSONLFile[int, int](path)
		defer func() { require.NoError(t, sink.Close()) }()
		for range 3 {
			_, err := node.BatchFunc("b", feed(0), same, keep).WithJournal(j).WithSink(sink).Run(ctx, &state{})
			require.NoError(t, err)
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, strings.Repeat(doneLines(1), 3), string(text))
	}
	process()
	process()
	require.NoError(t, os.Truncate(path, 10))
	process()
	process()
}

func TestDedupHasALineForEachContent(t *testing.T) {
	path, j := filepath.Join(t.TempDir(), "results.jsonl"), journal.NewMemory()
	for range 2 {
		sink := node.NewJSONLFile[int, int](path)
		_, err := node.BatchFunc("b", feed(0, 0, 1, 0, 1), same, keep).WithJournal(j).WithSink(sink).Dedup().Run(t.Context(), &state{})
		require.NoError(t, err)
		require.NoError(t, sink.Close())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, strings.Replace(doneLines(2), `"index":1`, `"index":2`, 1), string(text))
		require.NoError(t, os.Remove(path))
	}
}

func TestAFileThatCannotBeWritten(t *testing.T) {
	err := into(t, journal.NewMemory(), t.TempDir(), 1)
	var failed *node.SinkError
	require.ErrorAs(t, err, &failed)
	assert.ErrorContains(t, err, "the results cannot be written")

	sink := node.NewJSONLFile[int, int]("unused")
	require.ErrorContains(t, sink.Write(t.Context(), nil), "the JSONL file is not open")
	_, err = sink.Sync(t.Context())
	require.ErrorContains(t, err, "the JSONL file is not open")
}

// A file has one writer.
func TestTwoRunsAtOnceIntoOneFile(t *testing.T) {
	sink := node.NewJSONLFile[int, int](filepath.Join(t.TempDir(), "results.jsonl"))
	var b *node.Batch[*state, int, int]
	b = node.BatchFunc("b", feed(1), func(ctx context.Context, i int) (int, error) {
		_, err := b.Run(ctx, &state{})
		assert.ErrorContains(t, err, "another run of the batch is writing to it")
		return i, nil
	}, keep).WithSink(sink)
	for range 2 {
		_, err := b.Run(t.Context(), &state{})
		require.NoError(t, err)
	}
	require.NoError(t, sink.Close())

	j := journal.NewMemory()
	inner := node.Map("inner", same).WithJournal(j).WithSink(sink)
	_, err := node.Map("outer", func(ctx context.Context, i int) (int, error) {
		_, err := inner.All(ctx, []int{i})
		return i, err
	}).WithJournal(j).All(t.Context(), []int{1})
	require.ErrorContains(t, err, "the batch runs inside the items of another")
}
