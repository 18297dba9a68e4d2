package benchmarks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/destel/rill"
	"github.com/sourcegraph/conc/stream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/headrace/headrace/node"
)

// streamEnv has a test binary stream instead of test, with a contender's name.
const streamEnv = "HEADRACE_BENCH_STREAM"

const streamItems = 1_000_000

// A streamer works on all items and counts the results, keeping none.
type streamer struct {
	name string
	run  func(ctx context.Context, items iter.Seq2[int, error]) (int, error)
}

func streamers() []streamer {
	return []streamer{
		{"headrace", func(ctx context.Context, items iter.Seq2[int, error]) (int, error) {
			n := 0
			for r, err := range node.Map("noop", noop).WithParallel(batchAtOnce).Stream(ctx, items) {
				if err := errors.Join(err, r.Err); err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		}},
		{"errgroup", func(ctx context.Context, items iter.Seq2[int, error]) (int, error) {
			g, ctx := errgroup.WithContext(ctx)
			g.SetLimit(batchAtOnce)
			n := 0
			for item, err := range items {
				if err != nil {
					return n, err
				}
				n++
				g.Go(func() error {
					_, err := noop(ctx, item)
					return err
				})
			}
			return n, g.Wait()
		}},
		{"rill", func(ctx context.Context, items iter.Seq2[int, error]) (int, error) {
			n := 0
			for _, err := range rill.ToSeq2(rill.OrderedMap(rill.FromSeq2(items), batchAtOnce,
				func(i int) (int, error) { return noop(ctx, i) })) {
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		}},
		{"conc-stream", func(ctx context.Context, items iter.Seq2[int, error]) (int, error) {
			s := stream.New().WithMaxGoroutines(batchAtOnce)
			var failed error
			n := 0
			for item, err := range items {
				if err != nil {
					s.Wait()
					return n, err
				}
				s.Go(func() stream.Callback {
					_, err := noop(ctx, item)
					return func() { // one at a time
						failed = errors.Join(failed, err)
						n++
					}
				})
			}
			s.Wait()
			return n, failed
		}},
		// What the process needs before it does anything.
		{"loop", func(ctx context.Context, items iter.Seq2[int, error]) (int, error) {
			n := 0
			for item, err := range items {
				if err != nil {
					return n, err
				}
				if _, err := noop(ctx, item); err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		}},
	}
}

// upTo yields n items without keeping them.
func upTo(n int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
	}
}

// streamChild is the process to measure the memory of.
func streamChild(name string) (status int) {
	for _, s := range streamers() {
		if s.name != name {
			continue
		}
		start := time.Now()
		n, err := s.run(context.Background(), upTo(streamItems))
		took := time.Since(start)
		if err != nil || n != streamItems {
			fmt.Fprintln(os.Stderr, n, "items were streamed:", err)
			return 1
		}
		kib, err := peak()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(kib, took.Nanoseconds())
		return 0
	}
	fmt.Fprintln(os.Stderr, "nobody streams as", name)
	return 1
}

// peak is the most memory, in KiB, that this process has had resident.
func peak() (kib int64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	return readPeak(status)
}

func readPeak(status []byte) (kib int64, err error) {
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	if !found {
		return 0, errors.New("the system does not tell VmHWM")
	}
	_, err = fmt.Sscan(string(rest), &kib)
	return kib, err
}

func TestReadPeak(t *testing.T) {
	kib, err := readPeak([]byte("VmPeak:\t 9999 kB\nVmHWM:\t   14820 kB\nVmRSS:\t 1 kB\n"))
	require.NoError(t, err)
	assert.EqualValues(t, 14820, kib)
	_, err = readPeak([]byte("Name:\tx\n"))
	require.Error(t, err)
}

func TestStreamersStreamAll(t *testing.T) {
	for _, s := range streamers() {
		n, err := s.run(t.Context(), upTo(100))
		require.NoError(t, err, s.name)
		assert.Equal(t, 100, n, s.name)
	}
}

// BenchmarkStream is 1,000,000 items that do nothing, sixteen at once, in a
// process of their own: what an item costs and the most memory that was
// resident (VmHWM).
func BenchmarkStream(b *testing.B) {
	if _, err := peak(); err != nil {
		b.Skip(err)
	}
	var all []contender
	for _, s := range streamers() {
		all = append(all, contender{s.name, func(b *testing.B) {
			b.Helper()
			var most, took int64
			n := 0
			for b.Loop() {
				child := exec.CommandContext(b.Context(), os.Args[0])
				child.Env = append(os.Environ(), streamEnv+"="+s.name)
				child.Stderr = os.Stderr
				out, err := child.Output()
				require.NoError(b, err)
				var kib, ns int64
				_, err = fmt.Sscan(string(out), &kib, &ns)
				require.NoError(b, err)
				most, took, n = max(most, kib), took+ns, n+1
			}
			b.ReportMetric(float64(most)*1024/1e6, "peak-MB")
			b.ReportMetric(float64(took)/float64(n*streamItems), "ns/item")
			b.ReportMetric(0, "ns/op")
		}})
	}
	contend(b, all)
}
