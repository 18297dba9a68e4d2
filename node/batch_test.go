package node_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

func TestBatchIsSequentialByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		began := time.Now()
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			defer g.enter()()
			return i, work(ctx, time.Second)
		})
		out, err := m.All(t.Context(), numbers(5))
		require.NoError(t, err)
		assert.Equal(t, numbers(5), out)
		assert.Equal(t, int64(1), g.most.Load())
		assert.Equal(t, 5*time.Second, time.Since(began))
	})
}

func TestWithParallelIsExactlyThatMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		began := time.Now()
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			defer g.enter()()
			return i, work(ctx, time.Second)
		}).WithParallel(4)
		_, err := m.All(t.Context(), numbers(12))
		require.NoError(t, err)
		assert.Equal(t, int64(4), g.most.Load())
		assert.Equal(t, int64(12), g.total.Load())
		assert.Equal(t, 3*time.Second, time.Since(began), "all four workers had work all the time")
	})
}

// A million workers for three items would take gigabytes.
func TestFewItemsNeedFewWorkers(t *testing.T) {
	created := func() uint64 {
		sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := created()
	out, err := node.Map("all", same).WithParallel(100_000).All(t.Context(), numbers(3))
	require.NoError(t, err)
	assert.Equal(t, numbers(3), out)
	_, err = node.BatchFunc("run", feed(1, 2, 3), same, nil).WithParallel(100_000).Run(t.Context(), &state{})
	require.NoError(t, err)
	assert.Less(t, created()-before, uint64(1000))
}

// goroutine names the one that calls it: "goroutine 7".
func goroutine() string {
	text := make([]byte, 64)
	name, _, _ := strings.Cut(string(text[:runtime.Stack(text, false)]), " [")
	return name
}

func TestWorkersAreFixed(t *testing.T) {
	const parallel = 4
	var mu sync.Mutex
	seen := map[string]int{}
	m := node.Map("m", func(_ context.Context, i int) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[goroutine()]++
		return i, nil
	}).WithParallel(parallel).WithTimeout(time.Hour).WithLimits(concurrency(2)).WithRetry(retry.Policy{})
	_, err := m.All(t.Context(), numbers(2000))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(seen), parallel, "no goroutine is made for an item")
}

func TestResultsHaveTheOrderOfTheInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := node.Map("m", func(ctx context.Context, i int) (string, error) {
			return strconv.Itoa(i), work(ctx, time.Duration(20-i)*time.Second) // the last is ready first
		}).WithParallel(20)
		out, err := m.All(t.Context(), numbers(20))
		require.NoError(t, err)
		for i, s := range out {
			assert.Equal(t, strconv.Itoa(i), s)
		}
	})
}

func TestRunGoesThroughPrepExecPost(t *testing.T) {
	s := &state{}
	b := node.BatchFunc("b",
		func(_ context.Context, s *state) (iter.Seq2[int, error], error) {
			s.log = append(s.log, "prep")
			return node.Slice([]int{3, 4}), nil
		},
		func(_ context.Context, i int) (int, error) {
			s.log = append(s.log, fmt.Sprint("exec ", i)) // one at a time: no race
			return 10 * i, nil
		},
		func(_ context.Context, s *state, r *node.Report[int, int]) (node.Action, error) {
			s.log = append(s.log, fmt.Sprint("post ", r.Values()))
			return "again", nil
		})
	action, err := b.Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, node.Action("again"), action)
	assert.Equal(t, []string{"prep", "exec 3", "exec 4", "post [30 40]"}, s.log)
	assert.Equal(t, "b", b.Name())
}

func TestErrorInTheInputIsAnItemsFailure(t *testing.T) {
	var executed []int
	s := &state{}
	b := node.BatchFunc("b",
		func(context.Context, *state) (iter.Seq2[int, error], error) {
			return func(yield func(int, error) bool) {
				_ = yield(1, nil) && yield(2, errBoom) && yield(3, nil)
			}, nil
		},
		func(_ context.Context, i int) (int, error) {
			executed = append(executed, i)
			return i, nil
		}, keep).WithFallback(func(context.Context, int, error) (int, error) { return 99, nil })
	_, err := b.Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 3}, executed)
	assert.Equal(t, []node.Result[int, int]{
		{Index: 0, In: 1, Out: 1, Attempts: 1, State: node.Done},
		{Index: 1, In: 2, State: node.Failed, Err: errBoom},
		{Index: 2, In: 3, Out: 3, Attempts: 1, State: node.Done},
	}, results(s.report))
	assert.ErrorIs(t, s.report.Err(), errBoom)
}

func TestNilSequenceHasNoItems(t *testing.T) {
	s := &state{}
	b := node.BatchFunc("b",
		func(context.Context, *state) (iter.Seq2[int, error], error) { return nil, nil }, same, keep)
	_, err := b.Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, node.Counts{}, s.report.Counts())
	assert.Empty(t, s.report.Values())

	for range node.Map("m", same).Stream(t.Context(), nil) {
		t.Error("there is nothing to yield")
	}
}

func TestPrepErrorEndsTheRun(t *testing.T) {
	b := node.BatchFunc("b",
		func(context.Context, *state) (iter.Seq2[int, error], error) { return feedNever(t), errBoom },
		same,
		func(context.Context, *state, *node.Report[int, int]) (node.Action, error) {
			t.Error("Post was called")
			return node.Next, nil
		})
	_, err := b.Run(t.Context(), &state{})
	require.ErrorIs(t, err, errBoom)
	assert.EqualError(t, err, "prep: boom")
}

func feedNever(t *testing.T) iter.Seq2[int, error] {
	t.Helper()
	return func(func(int, error) bool) { t.Error("the input was read") }
}

func TestNilPostFailsOnAnyFailure(t *testing.T) {
	b := node.BatchFunc("b", feed(1, 2), func(_ context.Context, i int) (int, error) {
		if i == 2 {
			return 0, errBoom
		}
		return i, nil
	}, nil)
	action, err := b.Run(t.Context(), &state{})
	assert.Equal(t, node.Next, action)
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, node.Counts{Total: 2, Done: 1, Failed: 1}, failed.Counts)

	_, err = node.BatchFunc("b", feed(1, 2), same, nil).Run(t.Context(), &state{})
	assert.NoError(t, err)
}

func TestPostErrorIsTheRunsError(t *testing.T) {
	b := node.BatchFunc("b", feed(1), same,
		func(context.Context, *state, *node.Report[int, int]) (node.Action, error) { return "x", errBoom })
	_, err := b.Run(t.Context(), &state{})
	assert.ErrorIs(t, err, errBoom)
}

func TestPostSeesTheReportOfAStoppedRun(t *testing.T) {
	s := &state{}
	b := node.BatchFunc("b", feed(0, 1, 2, 3), func(_ context.Context, i int) (int, error) {
		if i == 1 {
			return 0, errBoom
		}
		return i + 10, nil
	}, keep).WithOnError(node.FailFast())
	_, err := b.Run(t.Context(), s)
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed, "the run fails although Post does not")
	require.NotNil(t, s.report)
	assert.Equal(t, []node.State{node.Done, node.Failed}, states(s.report))
	assert.Equal(t, []int{10, 0}, s.report.Values())
	assert.Equal(t, failed.Error(), s.report.Err().Error())
}

func TestMapIsANodeWithoutItems(t *testing.T) {
	m := node.Map("m", func(context.Context, int) (int, error) {
		t.Error("Exec was called")
		return 0, nil
	})
	action, err := m.Run(t.Context(), node.None{})
	require.NoError(t, err)
	assert.Equal(t, node.Next, action)
}

// handler is a minimal one.
type handler struct {
	node.Defaults[*state, int, int]
}

var _ node.BatchHandler[*state, int, int] = (*handler)(nil)

func (*handler) Prep(context.Context, *state) (iter.Seq2[int, error], error) {
	return node.Slice([]int{1, 2}), nil
}
func (*handler) Exec(_ context.Context, i int) (int, error) { return i, nil }

func TestDefaultsPostFailsOnAnyFailure(t *testing.T) {
	b := node.NewBatch[*state, int, int]("b", &failing{})
	_, err := b.Run(t.Context(), &state{})
	assert.ErrorIs(t, err, errBoom)
}

type failing struct{ handler }

func (*failing) Exec(context.Context, int) (int, error) { return 0, errBoom }

func TestReportOfAllStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &state{}
		b := node.BatchFunc("b", feed(0, 1, 2, 3, 4), func(ctx context.Context, i int) (int, error) {
			switch i {
			case 1:
				return 7, errBoom // a value beside an error is dropped
			case 3:
				cancel()
				<-ctx.Done()
				return 7, ctx.Err()
			}
			return i + 10, nil
		}, keep).WithKey(func(i int) string { return fmt.Sprint("k", i) })
		_, err := b.Run(ctx, s)
		require.ErrorIs(t, err, context.Canceled)
		r := s.report
		assert.Equal(t, node.Counts{Total: 4, Done: 2, Failed: 1, Pending: 1}, r.Counts(), "the fifth was never taken")
		assert.Equal(t, []int{10, 0, 12, 0}, r.Values())
		for res := range r.Failed() {
			assert.Equal(t, node.Result[int, int]{Index: 1, Key: "k1", In: 1, Attempts: 1, State: node.Failed, Err: errBoom}, res)
		}
		for res := range r.Pending() {
			assert.Equal(t, int64(3), res.Index)
			assert.ErrorIs(t, res.Err, context.Canceled)
		}
		for res := range r.All() {
			assert.Equal(t, int64(0), res.Index)
			break // leaving a loop over a report is fine
		}
	})
}

func TestStateNames(t *testing.T) {
	assert.Equal(t, "pending done failed resumed State(9)",
		fmt.Sprint(node.Pending, node.Done, node.Failed, node.Resumed, node.State(9)))
}

type codeError struct{ code int }

func (e *codeError) Error() string { return fmt.Sprint("code ", e.code) }

func TestBatchErrorCountsAndJoins(t *testing.T) {
	m := node.Map("checks", func(_ context.Context, i int) (int, error) {
		switch {
		case i == 3:
			return 0, errBoom
		case i >= 5:
			return 0, &codeError{i}
		}
		return i, nil
	})
	out, err := m.All(t.Context(), numbers(25))
	assert.Len(t, out, 25)
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "checks", failed.Node)
	assert.Equal(t, node.Counts{Total: 25, Done: 4, Failed: 21}, failed.Counts)
	assert.NoError(t, failed.Stopped)
	require.Len(t, failed.First, 10, "it carries no more than ten")
	assert.ErrorIs(t, failed.First[0], errBoom)
	assert.EqualError(t, failed.First[9], "item 13: code 13")

	assert.ErrorIs(t, err, errBoom)
	var code *codeError
	require.ErrorAs(t, err, &code)
	assert.Equal(t, 5, code.code)
	assert.EqualError(t, err, `node "checks": 21 of 25 items failed; first: item 3: boom`)
	assert.Len(t, failed.Unwrap(), 10)
}

func TestBatchErrorTellsAFailureOnce(t *testing.T) {
	m := node.Map("m", func(context.Context, int) (int, error) { return 0, errBoom }).WithOnError(node.FailFast())
	_, err := m.All(t.Context(), numbers(3))
	assert.EqualError(t, err,
		`node "m": 1 of 3 items failed, 2 pending, 0 done, stopped: node: 1 items failed and 0 are allowed, at last: boom`)
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	assert.Len(t, failed.Unwrap(), 1, "the reason for the stop is that failure")
	assert.Len(t, failed.First, 1)
}

func TestBatchErrorIsSafeToShare(t *testing.T) {
	_, err := node.Map("m", func(context.Context, int) (int, error) { return 0, errBoom }).
		WithOnError(node.MaxFailures(2)).All(t.Context(), numbers(9))
	var readers sync.WaitGroup
	for range 4 { // the race detector looks on
		readers.Go(func() { assert.ErrorAs(t, err, new(*node.TooManyFailuresError)) })
	}
	readers.Wait()
}

func TestAllHasAnOutForEveryItemOfAStoppedRun(t *testing.T) {
	m := node.Map("m", func(_ context.Context, i int) (int, error) {
		if i == 2 {
			return 0, errBoom
		}
		return i + 1, nil
	}).WithOnError(node.FailFast())
	out, err := m.All(t.Context(), numbers(5))
	assert.Equal(t, []int{1, 2, 0, 0, 0}, out)
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, node.Counts{Total: 5, Done: 2, Failed: 1, Pending: 2}, failed.Counts)
}

func TestAllOfNothing(t *testing.T) {
	out, err := node.Map("m", same).WithParallel(8).All(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, out)
}

// A batch is shared by whatever runs it: twice in a row, at the same time, and
// inside the items of another batch.
func TestBatchRunsTwiceAndConcurrently(t *testing.T) {
	inner := node.Map("inner", func(_ context.Context, i int) (int, error) {
		runtime.Gosched()
		return 2 * i, nil
	}).WithParallel(3).WithLimits(concurrency(5))
	outer := node.Map("outer", func(ctx context.Context, i int) (int, error) {
		out, err := inner.All(ctx, []int{i, i + 1, i + 2})
		return sum(out), err
	}).WithParallel(4)
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			for range 2 {
				out, err := outer.All(t.Context(), numbers(20))
				if !assert.NoError(t, err) {
					return
				}
				for i, n := range out {
					assert.Equal(t, 2*(i+i+1+i+2), n)
				}
			}
		})
	}
	running.Wait()
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// An error with methods that misbehave is handled like any other error of an item.
type hostileError struct{}

func (hostileError) Error() string { return "hostile" }
func (hostileError) Is(error) bool { panic("Is") }

func TestErrorThatPanicsWhenCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &state{}
		b := node.BatchFunc("b", feed(1), func(context.Context, int) (int, error) {
			cancel()
			synctest.Wait() // until the run has noticed
			return 0, hostileError{}
		}, keep)
		_, err := b.Run(ctx, s)
		require.Error(t, err)
		assert.Equal(t, []node.State{node.Failed}, states(s.report))
	})
}

func TestErrorThatPanicsWhenComparedWithATimeout(t *testing.T) {
	_, err := node.Map("m", func(context.Context, int) (int, error) { return 0, hostileError{} }).WithTimeout(time.Minute).All(t.Context(), numbers(1))
	var failed *node.BatchError
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.First, 1)
	assert.EqualError(t, failed.First[0], "item 0: hostile")
}
