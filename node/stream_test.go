package node_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/node"
)

// endless is 0, 1, 2, ...; taken counts what was read of it, ended whether its
// end was reached.
type endless struct {
	taken atomic.Int64
	ended atomic.Bool
}

func (e *endless) seq(yield func(int, error) bool) {
	defer e.ended.Store(true)
	for i := 0; ; i++ {
		e.taken.Add(1)
		if !yield(i, nil) {
			return
		}
	}
}

func TestStreamKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			return 10 * i, work(ctx, time.Duration((i*7)%5)*time.Second)
		}).WithParallel(4)
		next := 0
		for r, err := range m.Stream(t.Context(), node.Slice(numbers(50))) {
			require.NoError(t, err)
			assert.Equal(t, node.Result[int, int]{
				Index: int64(next), In: next, Out: 10 * next, Attempts: 1, State: node.Done,
			}, r)
			next++
		}
		assert.Equal(t, 50, next)
	})
}

func TestUnorderedYieldsAsTheyFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			return i, work(ctx, time.Duration(5-i)*time.Second)
		}).WithParallel(5).Unordered()
		began := time.Now()
		var order []int64
		for r, err := range m.Stream(t.Context(), node.Slice(numbers(5))) {
			require.NoError(t, err)
			order = append(order, r.Index)
			assert.Equal(t, time.Duration(len(order))*time.Second, time.Since(began), "at once")
		}
		assert.Equal(t, []int64{4, 3, 2, 1, 0}, order)
	})
}

func TestUnorderedYieldsEveryItemOnce(t *testing.T) {
	m := node.Map("m", func(_ context.Context, i int) (int, error) {
		for range i % 4 {
			runtime.Gosched()
		}
		return -i, nil
	}).WithParallel(5).WithWindow(7).Unordered()
	var got []int
	for r, err := range m.Stream(t.Context(), node.Slice(numbers(1000))) {
		require.NoError(t, err)
		assert.Equal(t, -r.In, r.Out)
		got = append(got, r.In)
	}
	slices.Sort(got)
	assert.Equal(t, numbers(1000), got)
}

// However long the input, no more items are between their begin and their
// delivery than the window holds; one more is being delivered.
func TestStreamIsBounded(t *testing.T) {
	items := 200_000
	if testing.Short() {
		items = 10_000
	}
	for _, unordered := range []bool{false, true} {
		t.Run(fmt.Sprint("unordered ", unordered), func(t *testing.T) {
			const window = 16
			m := node.Map("m", same).WithParallel(8).WithWindow(window)
			if unordered {
				m.Unordered()
			}
			var taken, delivered atomic.Int64
			input := func(yield func(int, error) bool) {
				for i := range items {
					if ahead := taken.Add(1) - delivered.Load(); ahead > window+1 {
						t.Errorf("%d items are ahead", ahead)
						return
					}
					if !yield(i, nil) {
						return
					}
				}
			}
			for _, err := range m.Stream(t.Context(), input) {
				require.NoError(t, err)
				delivered.Add(1)
			}
			assert.Equal(t, int64(items), delivered.Load())
		})
	}
}

func TestWindowIsAllThatIsTaken(t *testing.T) {
	for _, tc := range []struct{ parallel, window, ahead int }{{1, 0, 4}, {3, 0, 12}, {3, 3, 3}, {2, 5, 5}} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := node.Map("m", same).WithParallel(tc.parallel)
				if tc.window > 0 {
					m.WithWindow(tc.window)
				}
				var in endless
				for r := range m.Stream(t.Context(), in.seq) {
					synctest.Wait() // until nothing moves while the consumer is busy
					assert.Equal(t, r.Index+1+int64(tc.ahead), in.taken.Load())
					if r.Index == 20 {
						break
					}
				}
				assert.True(t, in.ended.Load())
			})
		})
	}
}

// An item that is slow holds back those behind it, and no more begin than fit.
func TestWindowBoundsWhatWaitsBehindASlowItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			g.enter()()
			if i == 0 {
				return i, work(ctx, time.Hour)
			}
			return i, nil
		}).WithParallel(2).WithWindow(6)
		go func() {
			time.Sleep(time.Minute)
			assert.Equal(t, int64(6), g.total.Load())
		}()
		n := 0
		for _, err := range m.Stream(t.Context(), node.Slice(numbers(20))) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, 20, n)
	})
}

func TestLeavingTheLoopLeaksNothing(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		for at := range 12 {
			ignore := goleak.IgnoreCurrent()
			var g gauge
			var in endless
			m := node.Map("m", func(ctx context.Context, i int) (int, error) {
				defer g.enter()()
				if i >= 9 {
					<-ctx.Done() // a running item is cancelled
					return 0, ctx.Err()
				}
				return i, nil
			}).WithParallel(3).WithWindow(3)
			if unordered {
				m.Unordered()
			}
			if at == 0 {
				for range m.Stream(t.Context(), in.seq) {
					break
				}
			} else {
				n := 0
				for range m.Stream(t.Context(), in.seq) {
					if n++; n == min(at, 9) {
						break
					}
				}
			}
			assert.Zero(t, g.now.Load(), "nothing runs once the loop is left")
			assert.True(t, in.ended.Load(), "the input was ended")
			goleak.VerifyNone(t, ignore)
		}
	}
}

func TestPanicInTheLoopStopsTheRun(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	var g gauge
	var in endless
	m := node.Map("m", func(ctx context.Context, i int) (int, error) {
		defer g.enter()()
		if i > 3 {
			<-ctx.Done()
		}
		return i, ctx.Err()
	}).WithParallel(3)
	assert.PanicsWithValue(t, "body", func() {
		for r := range m.Stream(t.Context(), in.seq) {
			if r.Index == 2 {
				panic("body")
			}
		}
	})
	assert.Zero(t, g.now.Load())
	assert.True(t, in.ended.Load())
	goleak.VerifyNone(t, ignore)
}

func TestReturningFromTheLoopIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			if i > 0 {
				return 0, work(ctx, time.Hour)
			}
			return i, nil
		}).WithParallel(3)
		for range m.Stream(t.Context(), node.Slice(numbers(9))) {
			break
		}
		assert.Zero(t, time.Since(began), "there is no grace for whoever leaves")
	})
}

func TestErrorOfTheRunComesLast(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		t.Run(fmt.Sprint("unordered ", unordered), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				var in endless
				m := node.Map("m", func(ctx context.Context, i int) (int, error) {
					if i < 4 {
						return i, nil
					}
					return 0, work(ctx, time.Hour)
				}).WithParallel(3).WithGrace(time.Second)
				if unordered {
					m.Unordered()
				}
				time.AfterFunc(time.Minute, func() { cancel(errBoom) })
				var got []node.State
				var last error
				for r, err := range m.Stream(ctx, in.seq) {
					require.NoError(t, last, "nothing comes after the error")
					if last = err; err != nil {
						assert.Equal(t, node.Result[int, int]{}, r)
						continue
					}
					got = append(got, r.State)
					if r.State == node.Pending {
						assert.ErrorIs(t, r.Err, context.Canceled)
					}
				}
				assert.Equal(t, []node.State{
					node.Done, node.Done, node.Done, node.Done, node.Pending, node.Pending, node.Pending,
				}, got)
				require.ErrorIs(t, last, errBoom)
				assert.EqualError(t, last, `node "m": stopped: boom`)
			})
		})
	}
}

func TestStreamStoppedByThePolicy(t *testing.T) {
	m := node.Map("m", func(_ context.Context, i int) (int, error) {
		if i == 2 {
			return 0, errBoom
		}
		return i, nil
	}).WithOnError(node.FailFast())
	var in endless
	var got []node.State
	var last error
	for r, err := range m.Stream(t.Context(), in.seq) {
		if last = err; err == nil {
			got = append(got, r.State)
		}
	}
	assert.Equal(t, []node.State{node.Done, node.Done, node.Failed}, got)
	assert.ErrorAs(t, last, new(*node.TooManyFailuresError))
	assert.True(t, in.ended.Load())
}

// The error of the run may be the first thing that comes, and may be ignored.
func TestStreamThatCannotBegin(t *testing.T) {
	m := node.Map("m", same).WithParallel(0)
	n := 0
	for r, err := range m.Stream(t.Context(), feedNever(t)) {
		n++
		assert.Zero(t, r)
		assertProblems(t, err, "WithParallel")
	}
	assert.Equal(t, 1, n)
	for range m.Stream(t.Context(), feedNever(t)) {
		break
	}
}

func TestStreamFailuresAreResults(t *testing.T) {
	m := node.Map("m", func(_ context.Context, i int) (int, error) {
		if i == 1 {
			return 0, errBoom
		}
		return i, nil
	})
	var failed []int64
	for r, err := range m.Stream(t.Context(), node.Slice(numbers(4))) {
		require.NoError(t, err)
		if r.Err != nil {
			failed = append(failed, r.Index)
		}
	}
	assert.Equal(t, []int64{1}, failed)
}

// A stream feeds another: the input of the second is the output of the first.
func TestStreamsChain(t *testing.T) {
	double := node.Map("double", func(_ context.Context, i int) (int, error) { return 2 * i, nil }).WithParallel(3)
	inc := node.Map("inc", func(_ context.Context, i int) (int, error) { return i + 1, nil }).WithParallel(2)
	var in endless
	outs := func(seq iter.Seq2[node.Result[int, int], error]) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for r, err := range seq {
				if !yield(r.Out, err) {
					return
				}
			}
		}
	}
	n := 0
	for r, err := range inc.Stream(t.Context(), outs(double.Stream(t.Context(), in.seq))) {
		require.NoError(t, err)
		require.Equal(t, 2*n+1, r.Out)
		if n++; n == 100 {
			break
		}
	}
	assert.True(t, in.ended.Load(), "leaving the last loop ends the first input")
}
