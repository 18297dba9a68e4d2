package node_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// assertPanicked checks that err has the panic of where, and its stack.
func assertPanicked(t *testing.T, err error, where string) {
	t.Helper()
	var panicked *fault.PanicError
	require.ErrorAs(t, err, &panicked)
	assert.Equal(t, where, panicked.Value)
	assert.Contains(t, string(panicked.Stack), "panic_test.go", "the stack is that of the panic")
}

// Of three items, the second runs into the panic. It fails and the others are done.
func TestPanicIsTheItemsFailure(t *testing.T) {
	second := func(where string, i int) {
		if i == 1 {
			panic(where)
		}
	}
	for where, set := range map[string]func(b *node.Batch[node.None, int, int]){
		"key": func(b *node.Batch[node.None, int, int]) {
			b.WithKey(func(i int) string { second("key", i); return "" })
		},
		"cost": func(b *node.Batch[node.None, int, int]) {
			b.WithCost(func(i int) throttle.Cost { second("cost", i); return throttle.Cost{} })
		},
		"used": func(b *node.Batch[node.None, int, int]) {
			b.WithLimits(concurrency(1)).WithUsed(func(i, _ int) throttle.Cost { second("used", i); return throttle.Cost{} })
		},
	} {
		for _, parallel := range []int{1, 3} {
			m := node.Map("m", same).WithParallel(parallel).WithRetry(retry.Policy{})
			set(m)
			out, err := m.All(t.Context(), numbers(3))
			assertPanicked(t, err, where)
			assert.Equal(t, []int{0, 0, 2}, out, where)
		}
	}
}

func TestPanicOfExecIsTheItemsFailure(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(1)} {
		var calls tally
		m := node.Map("m", func(_ context.Context, i int) (int, error) {
			calls.add(i)
			if i == 1 {
				panic("exec: rate limit of nil") // its text means something else in an error
			}
			return i, nil
		}).WithRetry(retry.Policy{}).WithTimeout(time.Minute)
		if limits.Concurrency > 0 {
			m.WithLimits(limits)
		}
		out, err := m.All(t.Context(), numbers(3))
		assertPanicked(t, err, "exec: rate limit of nil")
		assert.Equal(t, []int{0, 0, 2}, out)
		assert.Equal(t, 1, calls.of(1), "it is neither retried nor sent again")
		if limits.Concurrency > 0 {
			lim := m.Guard()
			assert.Zero(t, lim.Stats().InFlight)
		}
	}
}

func TestPanicOfExecHasItsFallback(t *testing.T) {
	m := node.Map("m", func(context.Context, int) (int, error) { panic("exec") }).
		WithFallback(func(_ context.Context, i int, err error) (int, error) {
			assertPanicked(t, err, "exec")
			return -i, nil
		})
	out, err := m.All(t.Context(), numbers(3))
	require.NoError(t, err)
	assert.Equal(t, []int{0, -1, -2}, out)
}

func TestPanicOfTheFallbackIsTheItemsFailure(t *testing.T) {
	m := node.Map("m", func(_ context.Context, i int) (int, error) {
		if i == 1 {
			return 0, errBoom
		}
		return i, nil
	}).WithFallback(func(context.Context, int, error) (int, error) { panic("fallback") })
	out, err := m.All(t.Context(), numbers(3))
	assertPanicked(t, err, "fallback")
	assert.Equal(t, []int{0, 0, 2}, out)
}

func TestPanicOfTheDetectorMeansThatItDoesNotKnow(t *testing.T) {
	for _, limits := range []throttle.Limits{{}, concurrency(1)} {
		m := node.Map("m", func(context.Context, int) (int, error) { return 0, errBoom }).
			With(guard.Policy{Detector: func(error) adaptive.Feedback { panic("detector") }})
		if limits.Concurrency > 0 {
			m.WithLimits(limits)
		}
		_, err := m.All(t.Context(), numbers(1))
		assert.ErrorIs(t, err, errBoom)
	}
}

func TestPanicOfPrepAndPostIsTheRunsError(t *testing.T) {
	_, err := node.BatchFunc("b",
		func(context.Context, *state) (iter.Seq2[int, error], error) { panic("prep") }, same, nil).
		Run(t.Context(), &state{})
	assertPanicked(t, err, "prep")

	_, err = node.BatchFunc("b", feed(1), same,
		func(context.Context, *state, *node.Report[int, int]) (node.Action, error) { panic("post") }).
		Run(t.Context(), &state{})
	assertPanicked(t, err, "post")
}

func TestPanicOfTheInputStopsTheRun(t *testing.T) {
	input := func(yield func(int, error) bool) {
		if yield(1, nil) {
			panic("input")
		}
	}
	for range 200 { // the other workers may come before or after the run has heard of it
		var last error
		n := 0
		for r, err := range node.Map("m", same).WithParallel(3).Stream(t.Context(), input) {
			if last = err; err == nil {
				n++
				require.NotEqual(t, node.Failed, r.State, "it is done, or had not begun when the run was stopped")
			}
		}
		assertPanicked(t, last, "input")
		require.ErrorContains(t, last, "the input failed")
		assert.Equal(t, 1, n)
	}

	s := &state{}
	b := node.BatchFunc("b", func(context.Context, *state) (iter.Seq2[int, error], error) { return input, nil }, same, keep)
	_, err := b.Run(t.Context(), s)
	assertPanicked(t, err, "input")
	assert.Equal(t, []node.State{node.Done}, states(s.report))
}

// An input may also panic when it is ended early, on the way out.
func TestPanicOfTheInputsEnd(t *testing.T) {
	input := func(yield func(int, error) bool) {
		defer func() { panic("end") }()
		for i := 0; yield(i, nil); i++ {
		}
	}
	m := node.Map("m", func(_ context.Context, i int) (int, error) { return i, errBoom }).WithOnError(node.FailFast())
	var last error
	assert.NotPanics(t, func() {
		for _, err := range m.Stream(t.Context(), input) {
			last = err
		}
	})
	require.ErrorIs(t, last, errBoom)
	assert.NotPanics(t, func() {
		for range node.Map("m", same).Stream(t.Context(), input) {
			break
		}
	})
}

// A run has failed if its goroutine was ended.
func TestGoexitOfARunIsTold(t *testing.T) {
	for _, in := range []string{"Prep", "Post"} {
		var events log
		exit := func(where string) {
			if where == in {
				runtime.Goexit()
			}
		}
		b := node.BatchFunc("b", func(ctx context.Context, s *state) (iter.Seq2[int, error], error) {
			exit("Prep")
			return feed(1)(ctx, s)
		}, same, func(context.Context, *state, *node.Report[int, int]) (node.Action, error) {
			exit("Post")
			return node.Next, nil
		})
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = b.Run(event.With(t.Context(), &events), &state{})
		}()
		<-over
		all := events.all()
		last := all[len(all)-1]
		assert.Equal(t, event.NodeFinished, last.Kind)
		assert.ErrorContains(t, last.Err, "runtime.Goexit", in)
	}
}

// runtime.Goexit ends the worker and not the run: another takes its place.
// The run goes on if an observer of that failure does the same.
func TestAnObserverThatExitsAtAnItemThatHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := event.Func(func(e event.Event) {
			if e.Kind == event.ItemFailed {
				runtime.Goexit()
			}
		})
		m := node.Map("m", func(context.Context, int) (int, error) { runtime.Goexit(); return 0, nil }).WithParallel(2)
		_, err := m.All(event.With(t.Context(), o), numbers(5))
		batch, ok := errors.AsType[*node.BatchError](err)
		require.True(t, ok, err)
		assert.Equal(t, int64(5), batch.Counts.Failed)
	})
}

func TestGoexitIsTheItemsFailure(t *testing.T) {
	exit := func(i int) {
		if i%3 == 1 {
			runtime.Goexit()
		}
	}
	for name, set := range map[string]func(b *node.Batch[node.None, int, int]){
		"key": func(b *node.Batch[node.None, int, int]) {
			b.WithKey(func(i int) string { exit(i); return "" })
		},
		"fallback": func(b *node.Batch[node.None, int, int]) {
			b.WithFallback(func(_ context.Context, i int, _ error) (int, error) { exit(i); return i, nil })
		},
		"used": func(b *node.Batch[node.None, int, int]) {
			b.WithUsed(func(i, _ int) throttle.Cost { exit(i); return throttle.Cost{} })
		},
		"exec": func(*node.Batch[node.None, int, int]) {},
	} {
		for _, parallel := range []int{1, 3} {
			t.Run(name, func(t *testing.T) {
				m := node.Map("m", func(_ context.Context, i int) (int, error) {
					switch name {
					case "exec":
						exit(i)
					case "fallback":
						return 99, errBoom
					}
					return i, nil
				}).WithParallel(parallel).WithLimits(concurrency(1))
				set(m)
				s := map[node.State]int{}
				for r, err := range m.Stream(t.Context(), node.Slice(numbers(9))) {
					require.NoError(t, err)
					s[r.State]++
					if r.State == node.Failed {
						assert.EqualError(t, r.Err, "node: the goroutine was ended by runtime.Goexit")
						assert.Zero(t, r.Out)
					}
				}
				assert.Equal(t, map[node.State]int{node.Done: 6, node.Failed: 3}, s)
				lim := m.Guard()
				assert.Zero(t, lim.Stats().InFlight)
			})
		}
	}
}

func TestGoexitInTheInputStopsTheRun(t *testing.T) {
	input := func(yield func(int, error) bool) {
		if yield(1, nil) {
			runtime.Goexit()
		}
	}
	for i := range 200 {
		var last error
		n := 0
		for _, err := range node.Map("m", same).WithParallel(1+i%4).Stream(t.Context(), input) {
			if last = err; err == nil {
				n++
			}
		}
		require.ErrorContains(t, last, "Goexit")
		require.Equal(t, 1, n)
	}
}
