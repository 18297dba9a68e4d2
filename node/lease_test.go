package node_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// The second of two runs at once changes nothing, and the first one goes on.
func TestASecondRunAtOnceIsRefused(t *testing.T) {
	for name, sinks := range map[string]func(path string) node.Sink[int, int]{
		"without a sink": func(string) node.Sink[int, int] { return nil },
		"to one file":    func(path string) node.Sink[int, int] { return node.NewJSONLFile[int, int](path) },
		"to a function":  func(string) node.Sink[int, int] { return &tracked{} },
	} {
		t.Run(name, func(t *testing.T) {
			path, j := filepath.Join(t.TempDir(), "results.jsonl"), journal.NewMemory()
			batch := func(exec func(context.Context, int) (int, error)) *node.Batch[*state, int, int] {
				b := node.BatchFunc("b", feed(numbers(100)...), exec, keep).WithJournal(j).WithParallel(4)
				if s := sinks(path); s != nil {
					b.WithSink(s)
				}
				return b
			}
			var calls tally
			second := batch(func(context.Context, int) (int, error) { t.Error("it is called"); return 0, nil })
			first := batch(func(ctx context.Context, i int) (int, error) {
				if calls.add(i); i == 50 {
					for range 2 {
						_, err := second.Run(context.WithoutCancel(t.Context()), &state{}) //nolint:contextcheck // a run of its own
						var failed *node.JournalError
						require.ErrorAs(t, err, &failed)
						assert.Equal(t, "open", failed.Op)
						var held *journal.HeldError
						require.ErrorAs(t, err, &held)
						assert.Equal(t, journal.Part{Run: journal.DefaultRun, Node: "b"}, held.Part)
						assert.Equal(t, os.Getpid(), held.Lease.Owner.PID)
						assert.ErrorContains(t, err, "another run is recording it: this process")
					}
					outs, err := second.All(context.WithoutCancel(t.Context()), numbers(3)) //nolint:contextcheck // a run of its own
					require.ErrorAs(t, err, new(*journal.HeldError))
					assert.Empty(t, outs)
					for _, err := range second.Stream(context.WithoutCancel(t.Context()), node.Slice(numbers(3))) { //nolint:contextcheck // a run of its own
						require.ErrorAs(t, err, new(*journal.HeldError))
					}
				}
				return i, nil
			})
			_, err := first.Run(t.Context(), &state{})
			require.NoError(t, err)
			assert.Equal(t, 100, calls.sum())
			if name == "to one file" {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Len(t, linesOf(text), 100)
			}
			_, err = node.BatchFunc("b", feed(numbers(100)...), same, keep).WithJournal(j).Run(t.Context(), &state{})
			require.NoError(t, err, "after the first")
		})
	}
}

// Two names, and two runs, are no concern of each other.
func TestOtherRunsAtOnce(t *testing.T) {
	j := journal.NewMemory()
	inner := node.Map("b", same).WithJournal(j)
	other := node.Map("other", same).WithJournal(j)
	_, err := node.Map("b", func(ctx context.Context, i int) (int, error) {
		_, err := inner.All(journal.WithRun(context.WithoutCancel(t.Context()), "another"), []int{i}) //nolint:contextcheck // a run of its own
		if err == nil {
			_, err = other.All(context.WithoutCancel(t.Context()), []int{i}) //nolint:contextcheck // a run of its own
		}
		return i, err
	}).WithJournal(j).All(t.Context(), numbers(3))
	require.NoError(t, err)
}

// However a run ends, the next one is let in.
func TestAClaimEndsWithItsRun(t *testing.T) {
	exits := func() error { runtime.Goexit(); return nil }
	panics := func() error { panic(errDisk) }
	for name, tc := range map[string]struct {
		op    string
		fault func() error
		run   func(ctx context.Context, b batch)
	}{
		"loading fails":    {op: "load", fault: func() error { return errDisk }},
		"loading panics":   {op: "load", fault: panics},
		"loading exits":    {op: "load", fault: exits},
		"finishing fails":  {op: "finish", fault: func() error { return errDisk }},
		"finishing panics": {op: "finish", fault: panics},
		"finishing exits":  {op: "finish", fault: exits},
		"beginning exits":  {op: "begin", fault: exits},
		"the loop is left": {run: func(ctx context.Context, b batch) { leave(ctx, b, func() {}) }},
		"the loop panics":  {run: func(ctx context.Context, b batch) { leave(ctx, b, func() { panic("loop") }) }},
		"the loop exits":   {run: func(ctx context.Context, b batch) { leave(ctx, b, runtime.Goexit) }},
		"it is cancelled": {run: func(ctx context.Context, b batch) {
			c, stop := context.WithCancel(ctx)
			stop()
			_, _ = b.All(c, numbers(3))
		}},
		"the sink cannot open": {run: func(ctx context.Context, b batch) {
			_, _ = b.WithSink(unopened(func() error { return errDisk })).All(ctx, numbers(3))
		}},
		"the sink exits": {run: func(ctx context.Context, b batch) { _, _ = b.WithSink(unopened(exits)).All(ctx, numbers(3)) }},
	} {
		t.Run(name, func(t *testing.T) {
			j := newFaulty(nil)
			if tc.op != "" {
				j.on = always(tc.op, tc.fault)
			}
			b := node.Map("b", same).WithJournal(j).WithLimits(concurrency(2))
			var done sync.WaitGroup
			done.Go(func() { // runtime.Goexit ends this one
				defer func() { _ = recover() }()
				if tc.run != nil {
					tc.run(t.Context(), b)
				} else {
					_, _ = b.All(t.Context(), numbers(3))
				}
			})
			done.Wait()
			outs, err := node.Map("b", same).WithJournal(j.Memory).All(t.Context(), numbers(3))
			require.NoError(t, err)
			assert.Equal(t, numbers(3), outs)
		})
	}
}

func leave(ctx context.Context, b batch, how func()) {
	for range b.Stream(ctx, node.Slice(numbers(9))) {
		how()
		break
	}
}

// unopened is a sink that cannot be begun.
type unopened func() error

func (u unopened) Write(context.Context, []node.Result[int, int]) error { return nil }
func (u unopened) Resume(context.Context, string) (bool, error)         { return false, u() }
func (u unopened) Sync(context.Context) (string, error)                 { return "", nil }

// A claim that lapses is renewed for as long as the run goes on, also when nothing else happens.
func TestAClaimIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var renewed atomic.Int64
		j := newFaulty(func(op string) error {
			if op == "renew" {
				renewed.Add(1)
			}
			return nil
		})
		j.renewWithin = 30 * time.Second
		m := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, work(ctx, 95*time.Second) }).WithJournal(j)
		_, err := m.All(t.Context(), []int{1})
		require.NoError(t, err)
		assert.EqualValues(t, 9, renewed.Load(), "each 10 s")
		time.Sleep(time.Hour)
		assert.EqualValues(t, 9, renewed.Load(), "and not after it")
	})
}

// A journal that cannot be reached for a while costs no claim.
func TestARenewalThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults atomic.Int64
		j := newFaulty(always("renew", func() error {
			if faults.Add(1)%2 == 0 {
				panic(errDisk)
			}
			return errDisk
		}))
		j.renewWithin = 30 * time.Second
		m := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, work(ctx, 60*time.Second) }).WithJournal(j)
		outs, err := m.All(t.Context(), []int{1, 2})
		require.NoError(t, err)
		assert.Equal(t, []int{1, 2}, outs)
		assert.Greater(t, faults.Load(), int64(9))
	})
}

// takeOver has another run take the part, as if this process had been stopped for long.
func takeOver(t *testing.T, j *faulty, p journal.Part) {
	t.Helper()
	require.NoError(t, j.Memory.Release(t.Context(), p, ownerOf(t, j.Memory, p)))
	_, err := j.Memory.Open(t.Context(), p, journal.NewOwner(), "", time.Now())
	require.NoError(t, err)
}

// A run that has lost its part records and writes nothing more, and names the one that has it.
func TestARunThatWasTakenOverStops(t *testing.T) {
	for name, tc := range map[string]struct{ renewWithin, latest time.Duration }{
		"seen by the renewal": {30 * time.Second, 80 * time.Second}, // with the call that was in flight
		// The next call may begin before the record is refused, and has its grace.
		"seen by the next record": {0, 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, sink := newFaulty(nil), &tracked{}
				j.renewWithin = tc.renewWithin
				part := journal.Part{Run: journal.DefaultRun, Node: "b"}
				time.AfterFunc(65*time.Second, func() { takeOver(t, j, part) })
				s := &state{}
				b := node.BatchFunc("b", feed(numbers(20)...), func(ctx context.Context, i int) (int, error) {
					return i, work(ctx, 20*time.Second)
				}, keep).WithJournal(j).WithSink(sink)
				began := time.Now()
				_, err := b.Run(t.Context(), s)
				var failed *node.JournalError
				require.ErrorAs(t, err, &failed)
				var held *journal.HeldError
				require.ErrorAs(t, err, &held)
				assert.True(t, held.Lost)
				assert.LessOrEqual(t, time.Since(began), tc.latest)
				assert.Len(t, sink.results(), 3)
				assert.Len(t, records(t, j.Memory, "b", journal.Done), 3)
				counts := s.report.Counts()
				assert.Equal(t, int64(3), counts.Done)
				assert.Zero(t, counts.Failed)
				assert.Equal(t, held.Lease.Owner, ownerOf(t, j.Memory, part), "its end does not release what is another's")
			})
		})
	}
}

// An attempt that hangs is given up. The next attempt of the item can run the batch inside, although
// the first one may still be running it.
func TestABatchInsideAnItemThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, hang := newFaulty(nil), make(chan struct{})
		defer close(hang)
		var calls tally
		inner := node.Map("inner", func(_ context.Context, i int) (int, error) {
			if calls.add(i) == 1 && i == 1 {
				<-hang // whatever becomes of its context
			}
			return i, nil
		}).WithJournal(j)
		outer := func() batch {
			return node.Map("outer", func(ctx context.Context, i int) (int, error) {
				got, err := inner.All(ctx, []int{0, 1, 2})
				return sum(got) + i, err
			}).WithJournal(j).WithTimeout(time.Second).WithFallback(func(ctx context.Context, i int, _ error) (int, error) {
				got, err := inner.All(ctx, []int{0, 1, 2})
				return sum(got) + i, err
			})
		}
		for range 2 {
			outs, err := outer().All(t.Context(), []int{10})
			require.NoError(t, err)
			assert.Equal(t, []int{13}, outs)
			assert.Equal(t, 2, calls.of(1))
			assert.Equal(t, 1, calls.of(0), "what was done is resumed")
		}
	})
}
