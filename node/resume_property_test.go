package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// life is one process of a run.
type life struct {
	parallel int
	retry    bool
	kind     int // of output
	cancelAt int // calls; negative: never
	dieAt    int // operations of the journal and the sink, after which none does anything; negative: never
	heard    bool
	torn     int // what the kill does to the file
	order    []int
}

// Of output.
const (
	toFile int = iota
	toFunc
	toNobody
	toAll
	kinds
)

// What a kill does to the file.
const (
	nothing int = iota
	halfALine
	lost
	kills
)

// world is what all lives of a run have in common.
type world struct {
	contents []int // of the items
	fates    map[int]fate
	dedup    bool
	journal  journal.Memory
	path     string

	mu     sync.Mutex // guards everything below
	calls  tally
	done   map[int]int // durable records by content
	broken []string
}

func (w *world) exec(_ context.Context, c int) (int, error) {
	n := w.calls.add(c)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done[c] >= w.occurrences(c) {
		w.broken = append(w.broken, fmt.Sprintf("%d was called with all of it done", c))
	}
	switch w.fates[c] {
	case fails:
		return -1, errBoom
	case succeedsAtTheThird:
		if n < 3 {
			return -1, errBoom
		}
	default:
	}
	return 10 * c, nil
}

func (w *world) occurrences(c int) (n int) {
	for _, other := range w.contents {
		if other == c {
			n++
		}
	}
	if w.dedup {
		return min(n, 1)
	}
	return n
}

// mortal is what dies with a life: its journal and its sink.
type mortal struct {
	journal.Memory

	w    *world
	l    life
	mu   sync.Mutex // guards left
	left int        // operations; negative: any number
}

func (m *mortal) alive() (alive, heard bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left < 0 {
		return true, true
	}
	m.left--
	switch {
	case m.left >= 0:
		return true, true
	case m.left == -1 && m.l.dieAt >= 0:
		m.left = 0
		first := m.l.heard
		m.l.heard = false
		return first, false
	default:
		m.left = 0
		return false, false
	}
}

func (m *mortal) Begin(ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
	if _, heard := m.alive(); !heard {
		return journal.Record{}, errDisk
	}
	return m.Memory.Begin(ctx, k, at, retry)
}

func (m *mortal) Finish(ctx context.Context, p journal.Part, o journal.Owner, mark string, records ...journal.Record) ([]journal.Record, error) {
	alive, heard := m.alive()
	if !alive {
		return nil, errDisk
	}
	refused, err := m.Memory.Finish(ctx, p, o, mark, records...)
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for _, r := range records {
		var c int
		_, _ = fmt.Sscan(r.Key.Content, &c)
		if r.State == journal.Done {
			m.w.done[c]++
		}
	}
	if len(refused) > 0 {
		m.w.broken = append(m.w.broken, fmt.Sprint("refused: ", refused))
	}
	if !heard {
		return nil, errDisk
	}
	return refused, err
}

// file is a JSONL file that dies.
type file struct {
	*node.JSONLFile[int, int]

	m *mortal
}

func (f file) Write(ctx context.Context, results []node.Result[int, int]) error {
	f.m.w.recorded(results) //nolint:contextcheck // of the test
	if _, heard := f.m.alive(); !heard {
		return errDisk
	}
	return f.JSONLFile.Write(ctx, results)
}

func (f file) Sync(ctx context.Context) (string, error) {
	alive, heard := f.m.alive()
	if !alive {
		return "", errDisk
	}
	mark, err := f.JSONLFile.Sync(ctx)
	if !heard {
		return "", errDisk
	}
	return mark, err
}

// recorded looks whether the results that a sink is given are in the journal.
func (w *world) recorded(results []node.Result[int, int]) {
	states := map[string]int{}
	for r, err := range w.journal.All(context.Background(), journal.Part{Run: journal.DefaultRun, Node: "b"}) {
		if err == nil {
			states[fmt.Sprint(r.Key.Content, r.State)]++
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range results {
		state := journal.Done
		if r.State == node.Failed {
			state = journal.Failed
		}
		if states[fmt.Sprint(r.Key, state)] == 0 {
			w.broken = append(w.broken, fmt.Sprintf("%s is written as %s, and not recorded", r.Key, state))
		}
	}
}

// live is one process. It returns the counts, and the values unless there is a sink.
func (w *world) live(t *rapid.T, l life) (node.Counts, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m := &mortal{Memory: w.journal, w: w, l: l, left: l.dieAt}
	items := make([]int, len(l.order))
	for i, at := range l.order {
		items[i] = w.contents[at]
	}
	var mu sync.Mutex
	calls := 0
	exec := func(ctx context.Context, c int) (int, error) {
		mu.Lock()
		if calls++; calls == l.cancelAt {
			cancel()
		}
		mu.Unlock()
		return w.exec(ctx, c)
	}
	var counts node.Counts
	b := node.BatchFunc("b",
		func(context.Context, node.None) (iter.Seq2[int, error], error) { return node.Slice(items), nil }, exec,
		func(_ context.Context, _ node.None, r *node.Report[int, int]) (node.Action, error) {
			counts = r.Counts()
			return node.Next, nil
		}).WithParallel(l.parallel).WithJournal(m).WithKey(strconv.Itoa)
	if w.dedup {
		b.Dedup()
	}
	if l.retry {
		b.RetryFailed()
	}
	var err error
	switch l.kind {
	case toFile:
		sink := node.NewJSONLFile[int, int](w.path)
		_, err = b.WithSink(file{sink, m}).Run(ctx, node.None{})
		require.NoError(t, sink.Close())
	case toFunc:
		sink := node.SinkFunc(func(context.Context, node.Result[int, int]) error {
			if _, heard := m.alive(); !heard {
				return errDisk
			}
			return nil
		})
		_, err = b.WithSink(sink).Run(ctx, node.None{})
	case toAll:
		outs, failed := b.All(ctx, items)
		for i, out := range outs {
			if out != 0 && out != 10*items[i] {
				t.Fatalf("item %d has %d", items[i], out)
			}
		}
		err = failed
	default:
		_, err = b.Run(ctx, node.None{})
	}
	if l.kind == toFile && l.dieAt >= 0 {
		w.tear(t, l.torn)
	}
	return counts, err
}

func (w *world) tear(t *rapid.T, how int) {
	text, err := os.ReadFile(w.path)
	if os.IsNotExist(err) { // it died before
		return
	}
	require.NoError(t, err)
	switch {
	case len(text) == 0: // nothing is written before something is recorded
		return
	case how == halfALine:
		text = append(text, `{"index":0,"sta`...)
	case how == lost:
		text = text[:len(text)/2]
	default:
		return
	}
	require.NoError(t, os.WriteFile(w.path, text, 0o600))
}

// Whatever happens to the processes of a run, the one that comes through ends it
// with every item there once, and nothing that is done is called again.
func TestEveryItemIsThereOnce(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			contents: rapid.SliceOfN(rapid.IntRange(1, 12), 0, 20).Draw(t, "contents"),
			fates:    map[int]fate{}, done: map[int]int{}, dedup: rapid.Bool().Draw(t, "dedup"),
			journal: journal.NewMemory(), path: filepath.Join(folder, "results.jsonl"),
		}
		for c := range 13 {
			w.fates[c] = rapid.SampledFrom([]fate{succeeds, succeeds, fails, succeedsAtTheThird}).Draw(t, "fate")
		}
		_ = os.Remove(w.path)
		retried := false
		for range rapid.IntRange(0, 5).Draw(t, "lives") {
			l := life{
				parallel: rapid.IntRange(1, 4).Draw(t, "parallel"), retry: rapid.Bool().Draw(t, "retry"),
				kind: rapid.IntRange(0, kinds-1).Draw(t, "kind"), cancelAt: rapid.IntRange(-10, 20).Draw(t, "cancelAt"),
				dieAt: rapid.IntRange(-10, 40).Draw(t, "dieAt"), heard: rapid.Bool().Draw(t, "heard"),
				torn: rapid.IntRange(0, kills-1).Draw(t, "torn"), order: rapid.Permutation(indices(len(w.contents))).Draw(t, "order"),
			}
			if rapid.Bool().Draw(t, "shorter") { // the input lacks items that it has later
				l.order = l.order[:rapid.IntRange(0, len(l.order)).Draw(t, "length")]
			}
			retried = retried || l.retry
			_, _ = w.live(t, l)
		}
		last := life{parallel: 3, kind: toFile, cancelAt: -1, dieAt: -1, order: indices(len(w.contents))}
		counts, err := w.live(t, last)
		require.NoError(t, err)
		require.Empty(t, w.broken)
		require.Equal(t, int64(len(w.contents)), counts.Done+counts.Resumed+counts.Failed, "%+v", counts)
		w.compare(t, retried)
	})
}

func indices(n int) []int { return numbers(n) }

// compare checks the file against the journal.
func (w *world) compare(t *rapid.T, retried bool) {
	text, err := os.ReadFile(w.path)
	require.NoError(t, err)
	done, failed := map[string]int{}, map[string]int{}
	for line := range bytes.Lines(text) {
		var l struct {
			Key, State, Error string
			Value             int
		}
		require.NoError(t, json.Unmarshal(line, &l), "%s", line)
		if l.State == "done" {
			require.Equal(t, l.Key+"0", strconv.Itoa(l.Value))
			done[l.Key]++
			continue
		}
		require.Equal(t, "boom", l.Error)
		failed[l.Key]++
	}
	wantDone, wantFailed := map[string]int{}, map[string]int{}
	for r, err := range w.journal.All(context.Background(), journal.Part{Run: journal.DefaultRun, Node: "b"}) {
		require.NoError(t, err)
		switch r.State {
		case journal.Done:
			wantDone[r.Key.Content]++
		case journal.Failed:
			wantFailed[r.Key.Content]++
		default:
			t.Fatalf("%v is %v", r.Key, r.State)
		}
	}
	require.Equal(t, wantDone, done, "lines of what is done")
	for _, c := range w.contents {
		key := strconv.Itoa(c)
		require.Equal(t, w.occurrences(c), wantDone[key]+wantFailed[key])
		require.GreaterOrEqual(t, failed[key], wantFailed[key])
		if !retried {
			require.Equal(t, wantFailed[key], failed[key])
		}
	}
}
