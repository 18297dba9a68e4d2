package node_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
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
		"the last line lost": func(s string) string { return s[:len(s)-2] + "??" },
		"a changed middle":   func(s string) string { return strings.Replace(s, `"value":2`, `"value":7`, 1) },
		"a line less":        func(s string) string { return s[strings.Index(s, "\n")+1:] },
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

// What is in a file that is not known to be the run's own stays as it is.
func TestAFileThatIsNotOursIsNotEmptied(t *testing.T) {
	older := doneLines(3)
	recorded := func(t *testing.T, path string) journal.Journal { // with a mark in another file
		t.Helper()
		j := journal.NewMemory()
		require.NoError(t, into(t, j, path+".other", 4))
		return j
	}
	withoutSink := func(t *testing.T, _ string) journal.Journal {
		t.Helper()
		j := journal.NewMemory()
		_, err := node.BatchFunc("b", feed(numbers(4)...), same, keep).WithJournal(j).Run(t.Context(), &state{})
		require.NoError(t, err)
		return j
	}
	for name, tc := range map[string]struct {
		content string
		journal func(t *testing.T, path string) journal.Journal
	}{
		"no journal":                      {"old", func(*testing.T, string) journal.Journal { return nil }},
		"no journal, results":             {older, func(*testing.T, string) journal.Journal { return nil }},
		"the journal was lost":            {older, func(*testing.T, string) journal.Journal { return journal.NewMemory() }},
		"no output is known":              {older, withoutSink},
		"the output is known, and longer": {strings.Repeat("x", 2000), recorded},
		"the output is known":             {"old", recorded},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "results.jsonl")
			j := tc.journal(t, path)
			require.NoError(t, os.WriteFile(path, []byte(tc.content), 0o600))
			for range 2 {
				err := into(t, j, path, 5)
				require.ErrorIs(t, err, node.ErrNotResults)
				require.ErrorAs(t, err, new(*node.SinkError))
				assert.ErrorContains(t, err, path)
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Equal(t, tc.content, string(text))
			}
			require.NoError(t, os.Remove(path))
			require.NoError(t, into(t, j, path, 5))
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, doneLines(5), string(text))
		})
	}
}

// A file that a kill has left before the first mark is cut.
func TestAFileOfARunThatWasKilledBeforeItsFirstMark(t *testing.T) {
	path, j := filepath.Join(t.TempDir(), "results.jsonl"), newFaulty(nil)
	finishes := 0
	j.on = func(op string) error {
		if op == "finish" {
			if finishes++; finishes > 1 {
				return errDisk
			}
		}
		return nil
	}
	require.Error(t, into(t, j, path, 200))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotEmpty(t, text)
	require.NoError(t, into(t, j.Memory, path, 200))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, doneLines(200), string(text))
}

// Without a journal the runs of a batch write one after the other.
func TestWithoutAJournalTheNextRunIsWrittenBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	sink := node.NewJSONLFile[int, int](path)
	b := node.BatchFunc("b", feed(numbers(2)...), same, keep).WithSink(sink)
	for range 3 {
		_, err := b.Run(t.Context(), &state{})
		require.NoError(t, err)
	}
	require.NoError(t, sink.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat(doneLines(2), 3), string(text))
	require.NoError(t, os.WriteFile(path, text[1:], 0o600))
	_, err = b.Run(t.Context(), &state{})
	require.ErrorContains(t, err, "not known to hold results of this run")
	require.NoError(t, sink.Close())
}

func TestAFileHasOneWriterAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	first, second := node.NewJSONLFile[int, int](path), node.NewJSONLFile[int, int](path)
	run := func(sink *node.JSONLFile[int, int]) error {
		_, err := node.BatchFunc("b", feed(1), same, keep).WithJournal(journal.NewMemory()).WithSink(sink).Run(t.Context(), &state{})
		return err
	}
	require.NoError(t, run(first))
	err := run(second)
	require.ErrorIs(t, err, node.ErrFileBusy)
	assert.ErrorContains(t, err, path+": another run is writing it, or a run in this process has not closed it")
	require.NoError(t, first.Close())
	require.ErrorIs(t, run(second), node.ErrNotResults)
	require.NoError(t, second.Close())
}

// A result without JSON fails, and its line says so.
func TestAResultThatTheFileCannotHoldFailsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	sink := node.NewJSONLFile[int, float64](path)
	outs, err := node.Map("m", func(_ context.Context, i int) (float64, error) {
		if i == 1 {
			return math.NaN(), nil
		}
		return float64(i), nil
	}).WithSink(sink).All(t.Context(), numbers(3))
	require.ErrorAs(t, err, new(*node.ResultError))
	require.ErrorContains(t, err, "1 of 3 items failed")
	assert.Equal(t, []float64{0, 0, 2}, outs)
	require.NoError(t, sink.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, doneLines(1)+`{"index":1,"state":"failed","error":"the result cannot be kept: json: unsupported value: NaN","attempts":1}`+"\n"+
		`{"index":2,"state":"done","value":2,"attempts":1}`+"\n", string(text))
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
	other := node.SinkFunc(func(context.Context, node.Result[int, int]) error { return nil })
	_, err := node.BatchFunc("b", feed(), same, keep).WithJournal(j).WithSink(other).Dedup().Run(t.Context(), &state{})
	require.NoError(t, err) // so that the file is written anew, although nothing is recorded
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

// counted counts what is written to a file.
type counted struct {
	*node.JSONLFile[int, int]

	lines int
}

func (c *counted) Write(ctx context.Context, results []node.Result[int, int]) error {
	c.lines += len(results)
	return c.JSONLFile.Write(ctx, results)
}

// A file that was written again lacks records that are not in the input any more. The next runs do not write it once more,
// unless there are many of them, and a record gets its line if its item comes back.
func TestAFileThatLacksRecordsWithoutAnItem(t *testing.T) {
	for name, steps := range map[string][]struct{ items, written int }{
		"a few":    {{5, 5}, {3, 3}, {3, 0}, {4, 1}, {4, 0}, {3, 0}, {6, 2}, {6, 0}},
		"the most": {{101, 101}, {1, 1}, {1, 0}, {101, 100}, {101, 0}},
		"too many": {{102, 102}, {1, 1}, {1, 1}, {102, 102}, {102, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			path, j, most := filepath.Join(t.TempDir(), "results.jsonl"), journal.NewMemory(), 0
			for i, step := range steps {
				if i == 1 {
					require.NoError(t, os.Truncate(path, 10))
					most = 0
				}
				sink := &counted{JSONLFile: node.NewJSONLFile[int, int](path)}
				_, err := node.BatchFunc("b", feed(numbers(step.items)...), same, keep).WithJournal(j).WithSink(sink).Run(t.Context(), &state{})
				require.NoError(t, err)
				require.NoError(t, sink.Close())
				assert.Equal(t, step.written, sink.lines, "run %d", i)
				most = max(most, step.items)
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Equal(t, doneLines(most), string(text), "run %d", i)
			}
		})
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

// A file is of one batch: two would cut off each other's lines when they resume.
func TestTwoBatchesIntoOneFile(t *testing.T) {
	for name, other := range map[string]string{"two batches": "other", "two of one name": "b"} {
		for kind, j := range map[string]journal.Journal{"with a journal": journal.NewMemory(), "without": nil} {
			t.Run(name+" "+kind, func(t *testing.T) {
				sink := node.NewJSONLFile[int, int](filepath.Join(t.TempDir(), "results.jsonl"))
				batch := func(name string, exec func(context.Context, int) (int, error)) *node.Batch[*state, int, int] {
					b := node.BatchFunc(name, feed(1), exec, keep).WithSink(sink)
					if j != nil {
						b.WithJournal(j)
					}
					return b
				}
				refused := func() {
					_, err := batch(other, same).Run(journal.WithRun(t.Context(), "other"), &state{})
					assert.ErrorAs(t, err, new(*node.SinkError))
					assert.ErrorContains(t, err, "another batch writes to it: give each batch a file of its own")
				}
				_, err := batch("b", func(ctx context.Context, i int) (int, error) {
					refused()
					return i, ctx.Err()
				}).Run(t.Context(), &state{})
				require.NoError(t, err)
				if other != "b" {
					refused()
				}
				require.NoError(t, sink.Close())
				_, err = batch(other, same).Run(journal.WithRun(t.Context(), "third"), &state{})
				require.ErrorIs(t, err, node.ErrNotResults, "what is in the file protects it from now on")
				require.NoError(t, sink.Close())
			})
		}
	}
}

func linesOf(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// killedAt is a run of items that dies after so many calls of Finish, before
// anything of the last one is written.
func killedAt(t *testing.T, j *faulty, path string, items []int, finishes int) {
	t.Helper()
	sink := node.NewJSONLFile[int, int](path)
	left := finishes
	j.on = func(op string) error {
		if op == "finish" {
			if left--; left < 0 {
				return errDisk
			}
		}
		return nil
	}
	dying := dyingSink{sink, func() bool { return left <= 0 }}
	synctest.Test(t, func(t *testing.T) { // each is committed alone
		_, err := node.BatchFunc("b", feed(items...), func(ctx context.Context, i int) (int, error) { return i, work(ctx, time.Second) }, keep).
			WithSink(dying).WithJournal(j).Run(t.Context(), &state{})
		require.Error(t, err)
	})
	require.NoError(t, sink.Close())
	j.on = nil
}

// dyingSink writes nothing more once the process is dead.
type dyingSink struct {
	*node.JSONLFile[int, int]

	dead func() bool
}

func (s dyingSink) Write(ctx context.Context, results []node.Result[int, int]) error {
	if s.dead() {
		return errDisk
	}
	return s.JSONLFile.Write(ctx, results)
}

func (s dyingSink) Sync(ctx context.Context) (string, error) {
	if s.dead() {
		return "", errDisk
	}
	return s.JSONLFile.Sync(ctx)
}

// What was recorded and not written is written by a run that has its items, and the
// mark waits for that.
func TestRecordsThatHaveNoLineYet(t *testing.T) {
	path, j := filepath.Join(t.TempDir(), "results.jsonl"), newFaulty(nil)
	killedAt(t, j, path, numbers(5), 3)
	read := func() string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	assert.Len(t, records(t, j.Memory, "b", journal.Done), 3)
	assert.Equal(t, doneLines(2), read(), "the kill was between a record and its line")
	for _, tc := range []struct{ items, lines int }{
		{1, 2}, // the input has lost the item: the others keep their lines
		{1, 2},
		{7, 7},
		{7, 7},
		{8, 8},
	} {
		sink := node.NewJSONLFile[int, int](path)
		_, err := node.BatchFunc("b", feed(numbers(tc.items)...), same, keep).WithSink(sink).WithJournal(j).Run(t.Context(), &state{})
		require.NoError(t, err)
		require.NoError(t, sink.Close())
		assert.Equal(t, doneLines(tc.lines), read())
	}
}

// A second kill comes before the item with the missing line is reached again.
func TestARecordWithoutALineOutlivesAnotherKill(t *testing.T) {
	path, j := filepath.Join(t.TempDir(), "results.jsonl"), newFaulty(nil)
	killedAt(t, j, path, numbers(3), 2)
	killedAt(t, j, path, []int{0, 6, 5, 4, 3, 2, 1}, 4)
	assert.Len(t, records(t, j.Memory, "b", journal.Done), 6)
	require.NoError(t, into(t, j, path, 7))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var got []string
	for _, line := range linesOf(text) {
		got = append(got, line[max(0, strings.Index(line, `"value"`)):])
	}
	var want []string
	for _, line := range linesOf([]byte(doneLines(7))) {
		want = append(want, line[max(0, strings.Index(line, `"value"`)):])
	}
	assert.ElementsMatch(t, want, got)
}

// Another attempt at what is around the batch writes the same again, and not behind it.
func TestAFileThatIsWrittenAnewByASecondAttempt(t *testing.T) {
	for name, spoil := range map[string]func(path string, j *faulty){
		"the file is lost":            func(path string, _ *faulty) { require.NoError(t, os.Remove(path)) },
		"a commit was not written":    func(path string, j *faulty) { killedAt(t, j, path, numbers(8), 1) },
		"nothing is wrong":            func(string, *faulty) {},
		"another sink was in between": func(_ string, j *faulty) { runInto(t, j, &tracked{}) },
	} {
		t.Run(name, func(t *testing.T) {
			path, j := filepath.Join(t.TempDir(), "results.jsonl"), newFaulty(nil)
			require.NoError(t, into(t, j, path, 3))
			spoil(path, j)
			sink := node.NewJSONLFile[int, int](path)
			ctx, end := occurrence.With(t.Context())
			attempts := 0
			step := node.Do("step", func(ctx context.Context, s *state) error {
				attempts++
				for range 2 { // rounds, of which the second counts on
					if _, err := node.BatchFunc("b", feed(numbers(4)...), same, keep).WithJournal(j).WithSink(sink).Run(ctx, s); err != nil {
						return err
					}
				}
				if attempts < 3 {
					return errBoom
				}
				return nil
			}).WithRetry(retry.Policy{MaxAttempts: 3, Initial: 1, Max: 1})
			_, err := step.Run(ctx, &state{})
			require.NoError(t, err)
			end()
			require.NoError(t, sink.Close())
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.ElementsMatch(t, linesOf([]byte(strings.Repeat(doneLines(4), 2))), linesOf(text))
		})
	}
}

func runInto(t *testing.T, j journal.Journal, sink node.Sink[int, int]) {
	t.Helper()
	_, err := node.BatchFunc("b", feed(numbers(3)...), same, keep).WithJournal(j).WithSink(sink).Run(t.Context(), &state{})
	require.NoError(t, err)
}
