package benchmarks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// memoryEnv makes a test binary the process to measure the memory of, with
// the number of items.
const memoryEnv = "HEADRACE_BENCH_MEMORY"

var memoryFlag = flag.Bool("memory", false, "compare the memory of 1,000,000 items with that of 10,000")

// page is one item of the three-node flow. Its text has a KiB, as texts do: ten thousand items
// that weigh nothing are over before the collector runs once, and say nothing of a run that goes on.
type page struct {
	number int
	text   string
	words  int
}

func step(name string, f func(*page)) node.Node[*page] {
	return node.Do(name, func(_ context.Context, p *page) error {
		f(p)
		return nil
	})
}

// streamPages has n items go through a batch of a flow of three nodes, sixteen
// at once, and keeps none of them.
func streamPages(ctx context.Context, n int) (words int, err error) {
	load := step("load", func(p *page) { p.text = strings.Repeat("a line of the page ", 50) + strconv.Itoa(p.number) })
	sign := step("sign", func(p *page) { p.text += ", read" })
	count := step("count", func(p *page) { p.words = 1 + strings.Count(p.text, " ") })
	none := func(context.Context, node.None) (iter.Seq2[page, error], error) { return node.Slice[page](nil), nil }
	pages := flow.Batch("pages", none, flow.New("page", load).Then(sign).Then(count), nil).WithParallel(batchAtOnce)
	input := func(yield func(page, error) bool) {
		for i := range n {
			if !yield(page{number: i}, nil) {
				return
			}
		}
	}
	done := 0
	for r, err := range pages.Stream(ctx, input) {
		if err := errors.Join(err, r.Err); err != nil {
			return words, err
		}
		done++
		words += r.Out.words
	}
	if done != n {
		err = fmt.Errorf("%d of %d items were done", done, n)
	}
	return words, err
}

func memoryChild(items string) (status int) {
	n, err := strconv.Atoi(items)
	if err == nil {
		_, err = streamPages(context.Background(), n)
	}
	var kib int64
	if err == nil {
		kib, err = peak()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(kib)
	return 0
}

func TestPagesStream(t *testing.T) {
	words, err := streamPages(t.Context(), 100)
	require.NoError(t, err)
	assert.Equal(t, 100*252, words)
}

// A million items need no more memory than ten thousand: the most that was
// resident (VmHWM) in a process that does nothing else, the least of three, for
// the collector comes late where others want the cores.
func TestMemoryIsFlat(t *testing.T) {
	if !*memoryFlag {
		t.Skip("it takes a while: go test -run TestMemoryIsFlat -memory")
	}
	if _, err := peak(); err != nil {
		t.Skip(err)
	}
	of := func(items int) (kib int64) {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", memoryEnv, items))
		child.Stderr = os.Stderr
		out, err := child.Output()
		require.NoError(t, err)
		_, err = fmt.Sscan(string(out), &kib)
		require.NoError(t, err)
		return kib
	}
	few, many := int64(math.MaxInt64), int64(math.MaxInt64)
	for range 3 {
		few, many = min(few, of(10_000)), min(many, of(1_000_000))
	}
	t.Logf("peak resident memory: %d KiB with 10,000 items, %d KiB with 1,000,000 (%+.1f %%)",
		few, many, 100*(float64(many)/float64(few)-1))
	assert.InEpsilon(t, few, many, 0.1)
}
